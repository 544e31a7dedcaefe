import * as fs from "node:fs"
import { join } from "node:path"

/** The contents of a folder: each path with its kind, its permissions and its content. The repository of the agent is not in it. */
export const listingOf = (root: string): ReadonlyMap<string, string> => {
  const found = new Map<string, string>()
  const visit = (folder: string, prefix: string): void => {
    for (const name of fs.readdirSync(folder).sort()) {
      const path = `${prefix}${name}`
      if (path === ".git") continue
      const at = join(folder, name)
      const stat = fs.lstatSync(at)
      const mode = (stat.mode & 0o777).toString(8)
      if (stat.isSymbolicLink()) found.set(path, `link ${fs.readlinkSync(at)}`)
      else if (stat.isDirectory()) {
        found.set(path, `directory ${mode}`)
        visit(at, `${path}/`)
      } else found.set(path, `file ${mode} ${fs.readFileSync(at).toString("base64")}`)
    }
  }
  visit(root, "")
  return found
}
