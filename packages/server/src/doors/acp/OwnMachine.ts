import { execFile } from "node:child_process"
import { readFileSync, realpathSync, statSync } from "node:fs"
import { readFile, stat } from "node:fs/promises"
import { basename } from "node:path"
import { type EditorMachine, mostTextBytes } from "./EditorMachine.js"
import { fenced } from "./ToolUpdates.js"

/** The server takes no larger file. */
const mostBytes = 25 * 1024 * 1024

/** The machine of this process, whose person has started the door. */
export const ownMachine: EditorMachine = {
  resolved: (path) => {
    try {
      return realpathSync(path)
    } catch {
      // A file that is not saved yet has no other name.
      return path
    }
  },
  text: (path) => {
    try {
      if (!statSync(path).isFile() || statSync(path).size > mostTextBytes) return undefined
      const content = readFileSync(path, "utf8")
      return content.includes("\u0000") || content.includes("\ufffd") ? undefined : content
    } catch {
      // The link names a folder, or a file that is gone.
      return undefined
    }
  },
  attachment: async (path) => {
    try {
      const { size } = await stat(path)
      if (size > mostBytes) return undefined
      return { name: basename(path), content: (await readFile(path)).toString("base64"), encoding: "base64" }
    } catch {
      // The link names a folder, or a file that is gone.
      return undefined
    }
  },
  // Anything but the commit that the session began from would be guessing.
  apply: async (folder, { base_commit, file_count }, diff) => {
    if (base_commit === null) return "The session began empty, so there is nothing to apply its changes to."
    if ((await git(folder, ["cat-file", "-e", `${base_commit}^{commit}`])) !== undefined)
      return `This folder does not have the commit ${base_commit.slice(0, 12)} that the session began from. Run \`git fetch\`, then \`/apply\` again.`
    const refusal = await git(folder, ["apply", "--3way", "-"], diff)
    const files = `${file_count} file${file_count === 1 ? "" : "s"}`
    return refusal === undefined ? `Applied to ${files} of ${folder}.` : `git could not apply it:\n\n${fenced(refusal)}`
  }
}

/** Runs git. Gives the words of a failure; undefined when it succeeds. */
const git = (folder: string, args: ReadonlyArray<string>, input = ""): Promise<string | undefined> =>
  new Promise((resolve) => {
    const child = execFile("git", ["-C", folder, ...args], (error, _, stderr) =>
      resolve(error === null ? undefined : stderr.trim() || error.message)
    )
    // A git that refuses at once does not read its input.
    child.stdin?.on("error", () => undefined)
    child.stdin?.end(input)
  })
