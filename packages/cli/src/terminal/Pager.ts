import { spawn, spawnSync } from "node:child_process"
import { takeInterrupts } from "./Interrupts.js"
import { hasColors } from "./Style.js"

/** The pager that the person has set for git: `GIT_PAGER`, `core.pager`, `PAGER`, else less. Empty for none. */
const chosenPager = (): string => {
  const { error, status, stdout } = spawnSync("git", ["var", "GIT_PAGER"], { encoding: "utf8" })
  if (error === undefined && status === 0) return stdout.trim()
  return process.env["GIT_PAGER"] ?? process.env["PAGER"] ?? "less"
}

/** The status of a shell that does not find the program. */
const notFound = 127

/** Shows a long text on a terminal in the pager of the person, which leaves what fits one screen. Elsewhere it is written as it is. */
export const writePaged = async (text: string): Promise<void> => {
  // Pagers wait for a key before they write to a terminal that can do nothing.
  const pager = process.stdout.isTTY && process.env["TERM"] !== "dumb" ? chosenPager() : ""
  if (pager === "" || pager === "cat" || (await pagedBy(pager, text)) === notFound) process.stdout.write(text)
}

const pagedBy = async (pager: string, text: string): Promise<number | null> => {
  // A key of the terminal is the pager's.
  const interrupts = takeInterrupts(() => undefined)
  try {
    return await new Promise((resolve) => {
      const child = spawn(pager, {
        shell: true,
        stdio: ["pipe", "inherit", "inherit"],
        // With R, less ends each line with an order to end styles.
        env: { LESS: hasColors(process.stdout) ? "FRX" : "FX", LV: "-c", ...process.env }
      })
      // It may end before it has read all.
      child.stdin.on("error", () => undefined)
      child.once("error", () => resolve(notFound))
      child.once("close", resolve)
      child.stdin.end(text)
    })
  } finally {
    interrupts.release()
  }
}
