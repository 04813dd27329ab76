import { createRedactor, hideValues, type ProgramInput, secretsIn } from '@reply/core/internal'
import { createPlainText } from './plain-text.ts'

/**
 * What a program's stderr says of its end: its last line that begins like an error, else its last line. Node.js and Rust
 * write a stack behind an error.
 */
export interface LastLine {
  push(text: string): void
  /** Without terminal sequences and secrets. Empty if it wrote nothing. */
  end(): string
}

/** How much of stderr's end is kept, in UTF-16 units: enough for a stack. */
const mostKept = 10_000

/** How much of the line's end is shown, in UTF-16 units. */
const mostShown = 2000

/** `TypeError: …`, `Error [ERR_X]: …`, `error: …`, `fatal: …` */
const errorLine = /^(?:[a-z]*error|fatal)\b.{0,40}?:/i

/**
 * Redacts all that comes, before any of it is cut off: a cut could remove the sign by which a secret is known. The values
 * of variables and arguments that are named like secrets are redacted as well. `env` is what was added to this process's
 * environment.
 */
export function createLastLine({ args, env }: ProgramInput): LastLine {
  const plain = createPlainText()
  const values = hideValues(secretsIn({ args, env: { ...process.env, ...env } }))
  const redactor = createRedactor()
  let kept = ''
  return {
    push: (text) => keep(redactor.push(values.push(plain.push(text)))),
    end: () => {
      keep(redactor.push(values.push(plain.end()) + values.end()) + redactor.end())
      const lines = kept.split('\n').map((line) => line.trim())
      const said = lines.findLast((line) => errorLine.test(line)) ?? lines.findLast((line) => line !== '') ?? ''
      return said.slice(-mostShown)
    },
  }

  function keep(text: string): void {
    kept = `${kept}${text}`.slice(-mostKept)
  }
}
