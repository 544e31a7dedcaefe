import { Schema } from "effect"

/** A web address without a name and a password in it, which the standard of URLs can read. */
export const WebUrl = Schema.String.pipe(
  Schema.maxLength(2000),
  Schema.pattern(/^https?:\/\/(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?(?:[/?][\x21-\x7e]*)?$/),
  Schema.filter((text) => URL.canParse(text) || "Input should be a web address with a host and a port that can be")
)
