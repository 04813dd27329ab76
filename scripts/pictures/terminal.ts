import { PassThrough, Writable } from 'node:stream'
import { systemClock } from '@reply/core'
import xterm, { type IBufferCell, type Terminal } from '@xterm/headless'
import type { Locator, Page } from 'playwright-core'
import { main } from '../../packages/console/src/cli/main.ts'

const columns = 92
const rows = 40

/** The 16 colours of a dark terminal: xterm's own order. */
const colours = [
  ...['#1c2128', '#ff7b72', '#57c26a', '#d9a441', '#6cb6ff', '#dcbdfb', '#56c8d8', '#c5d1de'],
  ...['#768390', '#ff938a', '#6bd57e', '#f0c674', '#8ecbff', '#e8d4ff', '#79dbe8', '#ffffff'],
]

/** Runs the demo of `npm start` in a terminal to its end, answers its question, and takes a picture of its output. */
export async function terminalScene(page: Page, save: (name: string, what: Locator) => Promise<void>): Promise<void> {
  const terminal = new xterm.Terminal({ cols: columns, rows, allowProposedApi: true, scrollback: 1000 })
  const keys = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => {} })
  const interrupts = new Set<() => void>()
  const done = main(['demo'], {
    stdin: keys,
    stdout: screenOf(terminal),
    stderr: screenOf(terminal),
    env: { TERM: 'xterm-256color', COLORTERM: 'truecolor', LANG: 'en_GB.UTF-8' },
    clock: systemClock,
    onSignal: (signal, run) => {
      if (signal === 'SIGINT') interrupts.add(run)
      return () => void interrupts.delete(run)
    },
  })
  while (!textOf(terminal).includes('After tax')) await new Promise((resolve) => setTimeout(resolve, 50))
  keys.write('1\r')
  while (!textOf(terminal).includes('completed ·')) await new Promise((resolve) => setTimeout(resolve, 50))
  await done
  await page.setViewportSize({ width: 1000, height: 900 })
  await page.setContent(
    `<title>reply</title><style>${css}</style><div class="window"><pre>${htmlOf(terminal)}</pre></div>`,
  )
  await save('demo-console', page.locator('.window'))
}

const css = `
  body { margin: 0; background: #fff }
  .window { display: inline-block; padding: 18px 22px; border-radius: 10px; background: #22272e; color: #c5d1de }
  pre { margin: 0; font: 14px/1.4 "DejaVu Sans Mono", Menlo, Consolas, monospace }
  div { min-height: 1.4em }
`

/** Returns a stream for the demo that writes to the terminal, and that the demo takes for one. */
function screenOf(terminal: Terminal): Writable & { readonly isTTY: true; columns: number; rows: number } {
  const stream = new Writable({
    decodeStrings: false,
    // A terminal's driver adds the carriage returns.
    write: (chunk, _encoding, done) => terminal.write(String(chunk).replaceAll(/\r?\n/g, '\r\n'), done),
  })
  return Object.assign(stream, { isTTY: true as const, columns, rows })
}

/** Returns the text of the terminal, with the rows that were scrolled away, one row per line. */
function textOf(terminal: Terminal): string {
  const { active } = terminal.buffer
  return Array.from({ length: active.length }, (_, index) => active.getLine(index)?.translateToString(true) ?? '').join(
    '\n',
  )
}

/** Returns the terminal's rows up to the end of the reply as HTML, with their colours. */
function htmlOf(terminal: Terminal): string {
  const span = ({ text, style }: Run): string => `<span style="${style}">${escaped(text)}</span>`
  return linesOf(terminal)
    .map((runs) => `<div>${runs.map(span).join('')}</div>`)
    .join('')
}

/** Returns a text as HTML, with `&` and `<` escaped. */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}

/** Cells of a row that look the same. */
interface Run {
  readonly text: string
  readonly style: string
}

/** Returns the rows up to the last that says `completed`, as runs of cells that look the same. Empty if none does. */
function linesOf(terminal: Terminal): readonly (readonly Run[])[] {
  const { active } = terminal.buffer
  const all = Array.from({ length: active.length }, (_, index) => runsOf(terminal, index))
  const end = all.findLastIndex((runs) => runs.some(({ text }) => text.includes('completed')))
  return all.slice(0, end + 1)
}

/** Returns a row as runs of cells that look the same. Empty cells become spaces. */
function runsOf({ buffer, cols }: Terminal, index: number): readonly Run[] {
  const line = buffer.active.getLine(index)
  const runs: Run[] = []
  for (let column = 0; column < cols; column++) {
    const cell = line?.getCell(column)
    if (!cell || cell.getWidth() === 0) continue
    const [text, style] = [cell.getChars() || ' ', styleOf(cell)]
    const last = runs.at(-1)
    if (last?.style === style) runs[runs.length - 1] = { text: last.text + text, style }
    else runs.push({ text, style })
  }
  return runs
}

/** Returns the CSS of a cell: its colour, weight, opacity, slant and underline. Empty for a plain one. */
function styleOf(cell: IBufferCell): string {
  const colour = cell.isFgPalette()
    ? colours[cell.getFgColor()]
    : cell.isFgRGB()
      ? `#${cell.getFgColor().toString(16).padStart(6, '0')}`
      : undefined
  return [
    colour === undefined ? '' : `color:${colour}`,
    cell.isBold() ? 'font-weight:700' : '',
    cell.isDim() ? 'opacity:.65' : '',
    cell.isItalic() ? 'font-style:italic' : '',
    cell.isUnderline() ? 'text-decoration:underline' : '',
    cell.isStrikethrough() ? 'text-decoration:line-through' : '',
  ]
    .filter((one) => one !== '')
    .join(';')
}
