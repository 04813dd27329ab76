import { readFileSync, writeFileSync } from 'node:fs'

/**
 * Writes a program that behaves like the recorded Claude Code: it writes the recorded lines in order, and waits wherever
 * something was written to it. Prompts get new ids each time, so it repeats those that it is given. It notes what it
 * gets in a file beside it, which `receivedBy` reads.
 */
export function writeReplayProgram(file: string, recording: string, change = (lines: string) => lines): void {
  const recorded = readFileSync(new URL(`../../recordings/claude/${recording}.jsonl`, import.meta.url), 'utf8').trim()
  const lines = change(recorded)
  const script = `#!${process.execPath}
const recorded = ${JSON.stringify(lines)}.split('\\n').map((line) => JSON.parse(line))
const session = process.argv[process.argv.indexOf('--session-id') + 1]
const renamed = new Map()
const received = []
let at = 0
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  require('node:fs').appendFileSync(__filename + '.received', line + '\\n')
  received.push(JSON.parse(line))
  play()
})
function play() {
  for (; at < recorded.length; at++) {
    const { from, line } = recorded[at]
    if (from === 'us') {
      const got = received.shift()
      if (!got) return
      if (line.uuid) renamed.set(line.uuid, got.uuid)
      if (line.session_id) renamed.set(line.session_id, session)
      continue
    }
    let text = JSON.stringify(line)
    for (const [before, now] of renamed) text = text.replaceAll(before, now)
    process.stdout.write(text + '\\n')
  }
}
`
  writeFileSync(file, script, { mode: 0o755 })
}

/** The prompts and responses that a replay program got so far, in order. Another process of it may list commands. */
export function receivedBy(file: string): Received {
  const lines: readonly ReceivedLine[] = readFileSync(`${file}.received`, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  return {
    prompts: lines.flatMap(({ message }) => (message ? [message.content] : [])),
    responses: lines.flatMap(({ response }) => response?.response ?? []),
  }
}

interface Received {
  /** The content blocks of each prompt. */
  readonly prompts: readonly (readonly object[])[]
  readonly responses: readonly object[]
}

interface ReceivedLine {
  readonly message?: { readonly content: readonly object[] }
  readonly response?: { readonly response: object }
}
