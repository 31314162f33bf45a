module switchcost

go 1.24
