import { Coloured } from "../highlight/Coloured.js"
import { languageNamed } from "../highlight/Languages.js"
import { Copy } from "../ui/Basics.js"

/** Code with the name of its language, colours, and a button that copies it. */
export const CodeBlock = ({
  isGrowing,
  language,
  text
}: {
  readonly text: string
  /** The word behind the fence; empty for none. */
  readonly language: string
  /** True while more of it may come; it has no colours then. */
  readonly isGrowing: boolean
}) => (
  <div class="code-block">
    <div class="code-head">
      <span>{language === "" ? "text" : language}</span>
      <Copy text={text} />
    </div>
    <code class="block">
      <Coloured text={text} language={isGrowing ? undefined : languageNamed(language)} />
    </code>
  </div>
)
