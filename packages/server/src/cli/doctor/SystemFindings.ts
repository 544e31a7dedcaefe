import { hasProc } from "@reins/base/base/ProcFs"
import { type Finding, ok, warn } from "./Finding.js"

/** Says how the processes of agents are found here, and what cannot be promised. */
export const processes = (): Finding =>
  hasProc()
    ? ok("processes", "the system shows processes and open files below /proc")
    : warn(
        "processes",
        "this system has no /proc. Agents are ended as ps tells their processes. One that has left its environment, its parent and its " +
          "group escapes, and after a crash one whose environment the system hides. No agent is kept between turns. A process that moves " +
          "directories at that moment while Reins reads or writes below them can lead it to another place of the same user",
        "Run the server on Linux where agents may start anything."
      )
