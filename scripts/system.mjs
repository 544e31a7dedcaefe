// Says in one sentence where Reins cannot run, and ends the program. It is imported before anything else.
const refuse = (sentence) => {
  process.stderr.write(`${sentence}\n`)
  process.exit(1)
}

if (process.platform === "win32")
  refuse("Reins runs on Linux and macOS. On Windows, run it in WSL: https://learn.microsoft.com/windows/wsl/install")

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number)
if (major < 20 || (major === 20 && minor < 19))
  refuse(`Reins needs Node 20.19 or newer; this is ${process.version}. Install a newer Node and run the command again.`)
