// @ts-check
/**
 * The script: which step comes next, and how a step becomes a call of one of the tools that the agent offers.
 *
 * @typedef {import("./gateway.mjs").Step} Step
 * @typedef {import("./gateway.mjs").ChatMessage} ChatMessage
 * @typedef {{ name: string, namespace?: string, schema?: { properties?: Record<string, any>, required?: string[] }, freeform?: boolean }} Tool
 * @typedef {{ id: string, name: string, namespace?: string, args: Record<string, unknown>, freeform?: string }} ToolCall
 */

/** The names that an intent may have, best first. */
const toolNames = {
  read: ["read", "Read", "read_file", "read_files", "exec_command", "shell_command", "shell", "bash"],
  write: [
    "write",
    "Write",
    "write_file",
    "create_file",
    "editor",
    "apply_patch",
    "exec_command",
    "shell_command",
    "shell",
    "bash"
  ],
  edit: [
    "edit",
    "Edit",
    "replace",
    "str_replace",
    "editor",
    "apply_patch",
    "exec_command",
    "shell_command",
    "shell",
    "bash"
  ],
  bash: [
    "bash",
    "Bash",
    "run_shell_command",
    "exec_command",
    "shell_command",
    "shell",
    "execute_command",
    "run_commands"
  ]
}

/**
 * A prompt that carries the steps.
 *
 * @param {string} words
 * @param {ReadonlyArray<Step>} steps
 * @returns {string}
 */
export const script = (words, ...steps) => `${words} SCRIPT:${JSON.stringify(steps)}`

/**
 * The steps of the last `SCRIPT:[...]` in a text. A script that is an argument in another one has its quotes escaped, and is not the one.
 *
 * @param {string} text
 * @returns {Step[] | null}
 */
export const extractScript = (text) => {
  for (let at = text.lastIndexOf(begins); at >= 0; at = at === 0 ? -1 : text.lastIndexOf(begins, at - 1)) {
    const steps = stepsAt(text, at)
    if (steps !== null) return steps
  }
  return null
}

const begins = "SCRIPT:["

/**
 * @param {string} text
 * @param {number} start
 * @returns {Step[] | null}
 */
const stepsAt = (text, start) => {
  const json = text.slice(start + "SCRIPT:".length)
  for (let end = json.indexOf("]"); end >= 0; end = json.indexOf("]", end + 1)) {
    try {
      return JSON.parse(json.slice(0, end + 1))
    } catch {
      // The bracket was inside the script: take the next one.
    }
  }
  return null
}

/**
 * The script that is in force and how many of its tool calls were made. The script rides in a user message, so that the gateway
 * keeps no state: the step is the number of tool calls after that message.
 *
 * @param {ReadonlyArray<ChatMessage>} messages
 * @param {((messages: ReadonlyArray<ChatMessage>) => Step[] | null) | undefined} plan
 * @returns {{ steps: Step[], index: number } | null}
 */
export const currentStep = (messages, plan) => {
  const calls = (/** @type {number} */ from) =>
    messages.slice(from).filter((message) => message.role === "tool_call").length
  for (let at = messages.length - 1; at >= 0; at--) {
    if (messages[at]?.role !== "user") continue
    const steps = extractScript(messages[at]?.text ?? "")
    if (steps !== null) return { steps, index: calls(at) }
  }
  const planned = plan?.(messages) ?? null
  return planned === null
    ? null
    : { steps: planned, index: calls(messages.findLastIndex((message) => message.role === "user")) }
}

/** @param {string} text */
const quote = (text) => `'${text.replaceAll("'", `'\\''`)}'`

/** @param {string | undefined} text */
const literal = (text) => (text ?? "").replace(/[\\/.*[\]^$&]/g, "\\$&").replaceAll("\n", "\\n")

/** @param {Step} step */
const shellCommand = (step) => {
  if (step.tool === "read") return `cat ${quote(step.path ?? "")}`
  if (step.tool === "write") return `printf %s ${quote(step.content ?? "")} > ${quote(step.path ?? "")}`
  if (step.tool === "edit")
    return `sed -i ${quote(`s/${literal(step.old)}/${literal(step.new)}/`)} ${quote(step.path ?? "")}`
  return step.cmd ?? "true"
}

/** @param {Step} step */
const patch = (step) => {
  const mark = (/** @type {string} */ sign, /** @type {string} */ text) =>
    text
      .replace(/\n$/, "")
      .split("\n")
      .map((line) => sign + line)
      .join("\n")
  const body =
    step.tool === "edit"
      ? `*** Update File: ${step.path}\n@@\n${mark("-", step.old ?? "")}\n${mark("+", step.new ?? "")}`
      : `*** Add File: ${step.path}\n${mark("+", step.content ?? "")}`
  return `*** Begin Patch\n${body}\n*** End Patch\n`
}

/**
 * @param {string} key
 * @param {any} property
 * @param {Step} step
 */
const argument = (key, property, step) => {
  if (/^(file_?path|path|absolute_path|target_file)$/i.test(key)) return step.path
  if (/^(content|contents|file_text|text)$/.test(key)) return step.content
  if (/^(old_?string|old_?text|old_str|before)$/i.test(key)) return step.old
  if (/^(new_?string|new_?text|new_str|after)$/i.test(key)) return step.new ?? step.content
  if (step.ask && key === "sandbox_permissions") return "require_escalated"
  if (step.ask && key === "justification") return "The script asks for leave."
  if (key === "files" && property.type === "array") return [{ path: step.path }]
  if (key === "commands" && property.type === "array") return [shellCommand(step)]
  if (/^(command|cmd)$/.test(key))
    return property.type === "array" ? ["bash", "-lc", shellCommand(step)] : shellCommand(step)
  return undefined
}

/** @param {any} property */
const filler = (property) => {
  if (property.enum) return property.enum[0]
  // Gemini writes types in capitals.
  const type = String(property.type).toLowerCase()
  if (type === "boolean") return false
  return type === "integer" || type === "number" ? 1 : "scripted"
}

/**
 * The call of an offered tool that does what the step says, or null when none is offered that can.
 *
 * @param {Step} step
 * @param {ReadonlyArray<Tool>} tools
 * @param {string} id
 * @returns {ToolCall | null}
 */
export const toolCall = (step, tools, id) => {
  const wanted = step.tool ?? ""
  const intended = Object.entries(toolNames).find(([intent]) => intent === wanted)?.[1]
  // Agents put the name of a server before the names of its tools, each in a way of its own.
  const isOfServer = (/** @type {Tool} */ { name }) =>
    intended === undefined && /[^a-z]$/i.test(name.slice(0, -wanted.length)) && name.endsWith(wanted)
  const named = [wanted, ...(intended ?? [])].flatMap((name) => tools.filter((offered) => offered.name === name))
  const tool = named[0] ?? tools.find(isOfServer)
  if (tool === undefined) return null
  const place = tool.namespace === undefined ? {} : { namespace: tool.namespace }
  if (step.args !== undefined) return { id, name: tool.name, ...place, args: step.args }
  if (tool.name === "apply_patch") {
    return tool.freeform
      ? { id, name: tool.name, args: {}, freeform: patch(step) }
      : { id, name: tool.name, args: { input: patch(step), patchText: patch(step) } }
  }
  const required = new Set(tool.schema?.required ?? [])
  /** @type {Record<string, unknown>} */
  const args = {}
  for (const [key, property] of Object.entries(tool.schema?.properties ?? {})) {
    const value = argument(key, property, step) ?? (required.has(key) ? filler(property) : undefined)
    if (value !== undefined) args[key] = value
  }
  return { id, name: tool.name, ...place, args }
}
