package harness

// Need is what a run needs, beyond what the process and the system use already. The names are those of the
// runner, which reads it.
type Need struct {
	// Descriptors are open files. A pipe or a socket pair takes two.
	Descriptors uint64 `json:"descriptors"`
	Threads     uint64 `json:"threads"`
	Maps        uint64 `json:"maps"`
	// Memory is bytes resident, the kernel's share included.
	Memory       uint64 `json:"memory"`
	AddressSpace uint64 `json:"address_space"`
	// LargestMap is the bytes of the largest single memory map: not a sum.
	LargestMap uint64 `json:"largest_map"`
	Pipes      uint64 `json:"pipes"`
	// Watches are files watched by epoll.
	Watches        uint64 `json:"watches"`
	FilesElsewhere uint64 `json:"files_elsewhere"`
	SpaceElsewhere uint64 `json:"space_elsewhere"`
}

func (n *Need) parts() []*uint64 {
	return []*uint64{
		&n.Descriptors, &n.Threads, &n.Maps, &n.Memory, &n.AddressSpace, &n.Pipes, &n.Watches,
		&n.FilesElsewhere, &n.SpaceElsewhere,
	}
}

// Plus is both.
func (n Need) Plus(other Need) Need {
	sum := n
	others := other.parts()
	for i, part := range sum.parts() {
		*part = satAdd(*part, *others[i])
	}
	sum.LargestMap = max(n.LargestMap, other.LargestMap)
	return sum
}

// Times is so many of it.
func (n Need) Times(count uint64) Need {
	product := n
	for _, part := range product.parts() {
		*part = satMul(*part, count)
	}
	if count == 0 {
		product.LargestMap = 0
	}
	return product
}

// resource is a part of a need that a limit bounds.
type resource string

const (
	descriptors  resource = "descriptors"
	files        resource = "files"
	threads      resource = "threads"
	maps         resource = "maps"
	memory       resource = "memory"
	addressSpace resource = "address_space"
	commit       resource = "commit"
	largestMap   resource = "largest_map"
	pipes        resource = "pipes"
	watches      resource = "watches"
)

func (n Need) of(r resource) uint64 {
	switch r {
	case descriptors:
		return n.Descriptors
	case files:
		return satAdd(n.Descriptors, n.FilesElsewhere)
	case threads:
		return n.Threads
	case maps:
		return n.Maps
	case memory:
		return n.Memory
	case addressSpace:
		return n.AddressSpace
	case commit:
		return satAdd(n.AddressSpace, n.SpaceElsewhere)
	case largestMap:
		return n.LargestMap
	case pipes:
		return n.Pipes
	default:
		return n.Watches
	}
}

func (r resource) isBytes() bool {
	return r == memory || r == addressSpace || r == commit || r == largestMap
}

// isOfLinks is whether it runs out only for links that are descriptors.
func (r resource) isOfLinks() bool {
	return r == descriptors || r == files || r == pipes || r == watches
}

// share is the part of a demand that a flag other than --tasks asks for.
type share struct {
	flag string
	need Need
}

// Demand is what N tasks need: a part that is always there, and a part for each task.
type Demand struct {
	Fixed   Need `json:"fixed"`
	PerTask Need `json:"per_task"`
	shares  []share
}

// Plus is both.
func (d Demand) Plus(other Demand) Demand {
	return Demand{
		Fixed:   d.Fixed.Plus(other.Fixed),
		PerTask: d.PerTask.Plus(other.PerTask),
		shares:  append(append([]share{}, d.shares...), other.shares...),
	}
}

func (d Demand) of(tasks uint64) Need {
	return d.Fixed.Plus(d.PerTask.Times(tasks))
}

// flagBehind is the flag other than --tasks that asks for most of what even one task needs, if one does.
func (d Demand) flagBehind(r resource) string {
	most, flag := uint64(0), ""
	for _, share := range d.shares {
		if need := share.need.of(r); need > most {
			most, flag = need, share.flag
		}
	}
	if half := divCeil(d.of(1).of(r), 2); half > 0 && most >= half {
		return flag
	}
	return ""
}

// DemandOfFlag is what a flag asks for: a part however many tasks there are, and a part for each.
func DemandOfFlag(flag string, fixed, perTask Need) Demand {
	return Demand{Fixed: fixed, PerTask: perTask, shares: []share{{flag, fixed.Plus(perTask)}}}
}

// heapNeed is so many bytes on the heap of a collector that lets it grow to the double before it cleans up,
// in arenas that are reserved as a whole.
func heapNeed(bytes uint64) Need {
	return Need{Memory: bytes, AddressSpace: satMul(bytes, 2)}
}

// HeapOf is so many bytes on the heap for each task.
func HeapOf(bytes uint64) Demand {
	return Demand{PerTask: heapNeed(bytes)}
}

// arena is what the Go runtime reserves at a time for its heap, with what it keeps about it.
const arena = 72 << 20

// RuntimeDemand is what the Go runtime itself takes: its threads, of which a few stand beside the workers
// (the monitor, threads in system calls), the event loop's descriptors and those for reading /proc.
func RuntimeDemand(workers uint64) Demand {
	const beside = 4
	thread := Need{Threads: 1, Memory: 40 << 10, AddressSpace: 256 << 10, Maps: 1}
	return DemandOfFlag("--workers", thread.Times(satAdd(workers, beside)), Need{}).Plus(Demand{
		Fixed: Need{Descriptors: 12, Memory: 8 << 20, AddressSpace: arena, Maps: 64, Watches: 2},
	})
}
