import { cpSync, readdirSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { cacheWithSmallAgent } from "@reins/testing/harness/SmallAgent"

/** The scripts that the agent imports stand where it expects them. */
const root = join(import.meta.dirname, "../../../..")

/**
 * Puts an agent of this suite into an installation of alpha below `directory`, because a sandbox shows an agent the files of its installation alone.
 * Gives its new place, and the settings of servers that find it there.
 */
export const installedAgent = (directory: string, agent: string) => {
  const cache = cacheWithSmallAgent(directory)
  const [name = ""] = readdirSync(join(cache, "harnesses"))
  const installed = join(cache, "harnesses", name)
  for (const needed of [dirname(agent), join(root, "examples/scripted-gateway/script.mjs")])
    cpSync(needed, join(installed, relative(root, needed)), { recursive: true })
  return { agent: join(installed, relative(root, agent)), env: { REINS_CACHE_DIR: cache } }
}
