package cliclient

// homeParent is where the empty configuration folders are made and removed with every call: in memory, which takes a
// hundredth of a millisecond instead of a third of one. Where it is not writable, the folder for temporary files is
// taken.
const homeParent = "/dev/shm"
