import type { ToolAnswer } from "@reins/machine/relay/mcp/ToolOffer"

/**
 * An answer that always has words, for models and pages that read words alone. They tell what an answer without a text has. An agent that takes no
 * images gets their number in the place of them.
 */
export const putInWords = ({ images = [], is_error, text }: ToolAnswer, takesImages: boolean): ToolAnswer => {
  const isBare = text.trim() === ""
  if (images.length === 0)
    return isBare ? { is_error, text: is_error ? silentFailure : emptyAnswer } : { is_error, text }
  const kinds = images.map(({ mime_type }) => mime_type).join(", ")
  if (takesImages) return { is_error, text: isBare ? `[${counted(images.length)}: ${kinds}]` : text, images }
  const note = `[${counted(images.length)} (${kinds}) left out: your program passes no images on to you. Ask for words instead.]`
  return { is_error, text: isBare ? note : `${text}\n${note}` }
}

const counted = (images: number): string => (images === 1 ? "1 image" : `${images} images`)

const emptyAnswer = "[The tool has answered, and its answer is empty.]"

const silentFailure = "[The tool has failed, and does not say why. Go on without it, or try something else.]"
