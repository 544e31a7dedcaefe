import { prove, rigForFile } from "./Cells.js"

const rig = rigForFile()

prove(rig, "kill -9", { drains: "always" })
prove(rig, "SIGSTOP", { drains: "in full" })
