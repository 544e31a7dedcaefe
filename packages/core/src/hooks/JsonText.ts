/** The deepest nesting that is read. Beyond it programs that walk a value run out of stack. */
const maxDepth = 100

/** The value of a JSON text in UTF-8. Undefined for anything else, and for one that is nested too deeply. Nothing at all is an empty object. */
export const jsonOf = (bytes: Uint8Array): { readonly value: unknown; readonly text: string } | undefined => {
  if (bytes.length === 0) return { value: {}, text: "{}" }
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes)
    return isShallow(text) ? { value: JSON.parse(text), text } : undefined
  } catch {
    return undefined
  }
}

const isShallow = (text: string): boolean => {
  let depth = 0
  let isInText = false
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at)
    if (isInText) {
      if (char === 0x5c) at++
      else if (char === 0x22) isInText = false
    } else if (char === 0x22) isInText = true
    else if (char === 0x5b || char === 0x7b) {
      if (++depth > maxDepth) return false
    } else if (char === 0x5d || char === 0x7d) depth--
  }
  return true
}
