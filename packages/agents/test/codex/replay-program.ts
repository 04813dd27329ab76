import { writeFileSync } from 'node:fs'
import { recordingOf } from '../replay.ts'

/** A line of Codex, or what was written to it (`us`). */
export interface ReplayedLine {
  readonly from: string
  readonly line: object
}

/**
 * Writes a program that behaves like the recorded Codex: it writes the recorded lines in order, and waits wherever
 * something was written to it. It ends with an error if another method, result, model or effort is written to it. Requests and prompts get new ids
 * each time, so it repeats those that it is given. It has no other threads, unless they were recorded.
 */
export function writeReplayProgram(file: string, recording: string): void {
  writeProgram(file, recordingOf('codex', recording))
}

/** Writes a program that behaves like a Codex whose lines these are, after the start of a thread. */
export function writeProgram(file: string, lines: readonly ReplayedLine[]): void {
  const script = `#!${process.execPath}
const all = ${JSON.stringify(lines)}
// How often and when threads are listed differs from one play to the next.
const lists = all.filter(({ line }) => line.method === 'thread/list').map(({ line }) => line.id)
const listed = all.find(({ from, line }) => from !== 'us' && lists.includes(line.id))
const recorded = all.filter(({ line }) => line.method !== 'thread/list' && !(line.result && lists.includes(line.id)))
const { threadId: id } = recorded.find(({ line }) => line.params?.threadId).line.params
const list = listed?.line.result ?? { data: [] }
const settings = { model: 'scripted', modelProvider: 'scripted', reasoningEffort: null }
const answers = { initialize: {}, 'thread/start': { thread: { id }, ...settings }, 'thread/list': list }
const settingsIn = ({ model, effort, collaborationMode } = {}) => JSON.stringify([model, effort, collaborationMode])
const isSame = (one, other) =>
  one.method === other.method &&
  JSON.stringify(one.result) === JSON.stringify(other.result) &&
  settingsIn(one.params) === settingsIn(other.params)
const renamed = []
const ids = new Map()
const received = []
let at = 0
const say = (line) => process.stdout.write(JSON.stringify(line) + '\\n')
require('node:readline').createInterface({ input: process.stdin }).on('line', (text) => {
  const line = JSON.parse(text)
  if (line.method === 'initialized') return
  if (line.method in answers) return say({ id: line.id, result: answers[line.method] })
  received.push(line)
  play()
})
function play() {
  for (; at < recorded.length; at++) {
    const { from, line } = recorded[at]
    if (from === 'us') {
      const got = received.shift()
      if (!got) return
      if (!isSame(got, line)) {
        console.error('error: recorded ' + JSON.stringify(line) + ', but got ' + JSON.stringify(got))
        process.exit(1)
      }
      if (line.method) ids.set(line.id, got.id)
      const { clientUserMessageId: before } = line.params ?? {}
      if (before) renamed.push([before, got.params.clientUserMessageId])
      continue
    }
    let text = JSON.stringify(line.method ? line : { ...line, id: ids.get(line.id) })
    for (const [before, now] of renamed) text = text.replaceAll(before, now)
    process.stdout.write(text + '\\n')
  }
}
`
  writeFileSync(file, script, { mode: 0o755 })
}
