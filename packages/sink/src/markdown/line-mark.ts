const [lineFeed, space, dash, colon, bar] = [0x0a, 0x20, 0x2d, 0x3a, 0x7c]

const marks = codes(' \t>|:-*+#`~0123456789')
const bullets = codes('-*+')
const blanks = codes(' \t')
const indents = codes(' \t>')
/** Behind the lead, these may begin a number or a fence. */
const numberOrFence = codes('`~0123456789')
/** Before a block that begins without a blank line. */
const interrupting = codes(' -*+#0123456789')

function codes(characters: string): readonly boolean[] {
  const wanted = new Set([...characters].map((one) => one.charCodeAt(0)))
  return Array.from({ length: 128 }, (_, code) => wanted.has(code))
}

/** Whether a line begins like a list, heading, quote, fence, table rule or indented line. All other lines are text. */
export function isMarked(line: string): boolean {
  return marks[line.charCodeAt(0)] === true
}

/** Whether the line at a position may be a numbered item, or begin or end a fence. */
export function mayBeNumberOrFence(text: string, start: number): boolean {
  return numberOrFence[text.charCodeAt(afterLead(text, start))] === true
}

/** Whether the line at a position, which has no tab, may be a numbered item, a fence or the rule of a table. */
export function mayLengthen(text: string, start: number): boolean {
  let at = afterLead(text, start)
  const code = text.charCodeAt(at)
  if (code === dash) {
    // The underline of a heading has nothing but dashes.
    while (text.charCodeAt(at) === dash) at++
    return text.charCodeAt(at) !== lineFeed
  }
  if (code === bar || code === colon) {
    // The bullet before it may be the rule's dash.
    if (text.charCodeAt(at - 1) === space && at > start) return true
    do at++
    while (text.charCodeAt(at) === space || text.charCodeAt(at) === colon)
    return text.charCodeAt(at) === dash
  }
  return numberOrFence[code] === true
}

/** Whether the line at a position may begin an item or a heading. */
export function mayInterrupt(text: string, start: number): boolean {
  return interrupting[text.charCodeAt(start)] === true
}

/** Where the text of a line begins, behind the marks of quotes and bullets. */
function afterLead(text: string, start: number): number {
  let at = start
  for (;;) {
    const code = text.charCodeAt(at)
    if (indents[code] === true) at++
    else if (bullets[code] === true && blanks[text.charCodeAt(at + 1)] === true) at += 2
    else return at
  }
}
