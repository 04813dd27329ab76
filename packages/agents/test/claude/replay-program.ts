import { readFileSync, writeFileSync } from 'node:fs'

/**
 * Writes a program that behaves like the recorded Claude Code: it writes the recorded lines in order, and waits wherever
 * something was written to it. Prompts get new ids each time, so it repeats those that it is given.
 */
export function writeReplayProgram(file: string, recording: string): void {
  const lines = readFileSync(new URL(`../../recordings/claude/${recording}.jsonl`, import.meta.url), 'utf8').trim()
  const script = `#!${process.execPath}
const recorded = ${JSON.stringify(lines)}.split('\\n').map((line) => JSON.parse(line))
const session = process.argv[process.argv.indexOf('--session-id') + 1]
const renamed = new Map()
const received = []
let at = 0
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => { received.push(JSON.parse(line)); play() })
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
