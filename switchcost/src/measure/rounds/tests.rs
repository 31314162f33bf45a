use super::*;

fn cases() -> Vec<Case> {
    crate::plan::Plan::built_in().unwrap().cases(false)
}

#[test]
fn the_header_names_each_case_at_its_place() {
    let cases = cases();
    let some: Vec<Case> = cases.iter().filter(|c| c.index % 3 == 1).cloned().collect();
    let plan = plan(&some);
    for case in &some {
        let (section, cell) = plan.get(case.index).unwrap();
        assert_eq!((section, cell), (&*case.section, &*case.cell));
    }
}
