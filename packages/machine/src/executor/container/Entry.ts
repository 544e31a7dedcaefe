import * as Bridge from "../sandbox/Bridge.js"

/**
 * The words of the shell in a container: takes the environment from its input up to an empty line, starts the bridge, where there are ports,
 * and becomes the agent. So no secret is among the words of a process, or in what an engine keeps of a container.
 */
const script = `
while IFS= read -r line && [ -n "$line" ]; do
  case $line in *\\\\*) value=$(printf '%b.' "$line"); line=\${value%.} ;; esac
  export "$line"
done
[ -z "$3" ] || (exec env -i "$1" -e "$2" $3 </dev/null >/dev/null 2>&1 &)
shift 3
unset line value
exec "$@"
`

/** The words after the image, which run a command with an environment that comes through its input. */
export const entry = (relayPorts: ReadonlyArray<number>, command: ReadonlyArray<string>): ReadonlyArray<string> => [
  ...["-i", "/bin/sh", "-c", script, "sh", process.execPath, Bridge.program, relayPorts.join(" ")],
  ...command
]

/** A variable that a shell can have. */
const named = /^[A-Za-z_][A-Za-z0-9_]*$/

/** The names of an environment that no shell can have. */
export const unnameable = (environment: Readonly<Record<string, string>>): ReadonlyArray<string> =>
  Object.keys(environment).filter((name) => !named.test(name))

/** The environment as the input of `entry`: a line for each variable, and an empty line. */
export const preface = (environment: Readonly<Record<string, string>>): string =>
  Object.entries(environment)
    .map(([name, value]) => `${name}=${value.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")}\n`)
    .concat("\n")
    .join("")
