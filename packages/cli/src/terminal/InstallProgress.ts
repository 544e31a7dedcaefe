import type { Harness } from "@reins/client"
import { tell } from "./Output.js"
import { progress } from "./Progress.js"

/** Shows each package of an agent as it comes: with a bar on a terminal, with a line for each tenth of it elsewhere. */
export const installProgress = () => {
  const { clear, say } = progress()
  let told = ""
  const show = ({
    downloaded_bytes,
    package: name,
    packages_done,
    packages_total,
    total_bytes
  }: NonNullable<Harness["installing"]>) => {
    const which = `${Math.min(packages_done + 1, packages_total)}/${packages_total} ${name}`
    const megabytes = `${Math.floor(downloaded_bytes / 1_000_000)} MB`
    const share = total_bytes === null || total_bytes === 0 ? undefined : downloaded_bytes / total_bytes
    say(`${which} ${megabytes}`, share)
    const line = `${which} ${share === undefined ? megabytes : `${Math.floor(share * 10) * 10} %`}`
    if (process.stderr.isTTY !== true && line !== told) tell(line)
    told = line
  }
  return { clear, show }
}
