import { prove, rigForFile } from "./Cells.js"

const rig = rigForFile()

prove(rig, "link down", { drains: "always" })
prove(rig, "PostgreSQL cut off", { drains: "in full" })
prove(rig, "peers cut off", { drains: "in full" })
