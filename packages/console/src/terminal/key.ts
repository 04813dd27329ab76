/** One key press. */
export type Key =
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type:
        | 'enter'
        | 'backspace'
        | 'clear'
        | 'word'
        | 'escape'
        | 'up'
        | 'down'
        | 'interrupt'
        | 'suspend'
        | 'end'
    }

const CONTROLS: Readonly<Record<string, Exclude<Key['type'], 'text'>>> = {
  '\r': 'enter',
  '\n': 'enter',
  '\b': 'backspace',
  '\u007f': 'backspace',
  '\u0003': 'interrupt',
  '\u0004': 'end',
  '\u0015': 'clear',
  '\u0017': 'word',
  '\u001a': 'suspend',
  '\u001b': 'escape',
  '\u001b[A': 'up',
  '\u001bOA': 'up',
  '\u001b[B': 'down',
  '\u001bOB': 'down',
}

// One escape sequence, one control character, or a run of text.
const PRESS =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
  /\u001b\[[0-?]*[ -/]*[@-~]|\u001bO[ -~]|\u001b(?![[O])[ -~]|[\u0000-\u001f\u007f-\u009f]|[^\u0000-\u001f\u007f-\u009f]+/g

/**
 * Decodes raw-mode terminal input into keys. Unused keys are dropped.
 *
 * A lone escape character is the Escape key: terminals send a sequence in one piece.
 */
export function keysOf(input: string): readonly Key[] {
  return (input.match(PRESS) ?? []).flatMap((press): readonly Key[] => {
    const type = CONTROLS[press]
    if (type !== undefined) return [{ type }]
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
    return /^[\u0000-\u001f\u007f-\u009f]/.test(press) ? [] : [{ type: 'text', text: press }]
  })
}
