import { shortened } from "./CutText.js"
import { type ForeignText, foreignName } from "./ForeignText.js"
import { blankInMessage } from "./Masks.js"

/** So much of the words of another program is looked at, however long they are. */
const mostRead = 64 * 1024

/** The words of another program as a message shows them: on one line, without what looks like a secret, at most `most` UTF-16 units. */
export const foreignWords = (text: string, most: number): ForeignText =>
  shortened(blankInMessage(foreignName(text, mostRead), "***"), most) as ForeignText
