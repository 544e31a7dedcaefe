/** The sentence for whoever starts Reins on Windows itself, where it has no signals, process groups and modes of files. */
export const onWindows =
  "Reins runs on Linux and macOS. On Windows, run it in WSL: https://learn.microsoft.com/windows/wsl/install"

/** Says in one sentence why Reins cannot run on a system and a Node; null where it can. It is asked before native code is loaded. */
export const hostRefusal = (platform: string, nodeVersion: string): string | null => {
  if (platform === "win32") return onWindows
  const [major = 0, minor = 0] = nodeVersion.split(".").map(Number)
  if (major > 20 || (major === 20 && minor >= 19)) return null
  return `Reins needs Node 20.19 or newer; this is v${nodeVersion}. Install a newer Node and run the command again.`
}
