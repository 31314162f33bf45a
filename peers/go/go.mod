module switchcost

go 1.22
