import { spawn } from "node:child_process"

/** The program that opens an address, with its arguments; undefined where nobody would see a page. */
export const openerOf = (
  platform: NodeJS.Platform,
  env: Readonly<Record<string, string | undefined>>
): readonly [program: string, ...args: ReadonlyArray<string>] | undefined => {
  const { BROWSER, DISPLAY, SSH_CONNECTION, WAYLAND_DISPLAY, WSL_DISTRO_NAME } = env
  if (BROWSER !== undefined && BROWSER !== "") return [BROWSER]
  // The page would open on the other machine.
  if (SSH_CONNECTION) return undefined
  if (platform === "darwin") return ["open"]
  if (platform === "win32") return ["rundll32", "url.dll,FileProtocolHandler"]
  if (WSL_DISTRO_NAME) return ["rundll32.exe", "url.dll,FileProtocolHandler"]
  return DISPLAY || WAYLAND_DISPLAY ? ["xdg-open"] : undefined
}

/** The time in which an opener says that it cannot, in milliseconds. Some go on as the browser. */
const patienceMs = 3000

/** Opens an address in the browser of the person. False where there is none, or it could not be started. */
export const openInBrowser = (address: string): Promise<boolean> => {
  const opener = openerOf(process.platform, process.env)
  if (opener === undefined) return Promise.resolve(false)
  const [program, ...args] = opener
  return new Promise((resolve) => {
    // No shell reads the address.
    const child = spawn(program, [...args, address], { stdio: "ignore", detached: true })
    const patience = setTimeout(() => resolve(true), patienceMs)
    const end = (isOpened: boolean) => {
      clearTimeout(patience)
      resolve(isOpened)
    }
    child.once("error", () => end(false))
    child.once("exit", (status) => end(status === 0))
    child.unref()
  })
}
