import { Writable } from 'node:stream'
import { type ReplyObserver, replay } from '@reply/core'
import type { ChannelCall, ChannelLog } from '@reply/web/inspect'
import { type ConsoleSink, consoleSink } from '../sink.ts'
import type { Output } from '../terminal/surface.ts'
import { createPlayClock, type PlayClock } from './play-clock.ts'

/** The terminal as a channel. */
export const terminal = { name: 'terminal', title: 'Terminal, plain' } as const

/** Plays a recording at its own pace to the sink of the terminal, as in a pipe, and returns what it writes. */
export async function playTerminal(recording: Uint8Array): Promise<ChannelLog> {
  const calls: ChannelCall[] = []
  const sinks: ConsoleSink[] = []
  const outputs = new Map<string, Output>()
  const clock = createPlayClock(0)
  await replay(recording, { pace: (at) => clock.advanceTo(at), observe: ({ sessionID }) => [sinkOf(sessionID)] })
  await clock.advanceTo(clock.now())
  await Promise.all(sinks.map((sink) => sink.stop()))
  return { ...terminal, maxLength: 0, isTerminal: true, budgets: [], calls, isCut: false }

  function sinkOf(sessionID: string): ReplyObserver {
    const stdout = outputs.get(sessionID) ?? createOutput(clock, (call) => calls.push({ ...call, sessionID }))
    outputs.set(sessionID, stdout)
    const sink = consoleSink({ stdout, live: false, interactive: false, env: {}, clock })
    sinks.push(sink)
    return sink
  }
}

/** An output of 80 columns whose writes are calls. */
function createOutput(clock: PlayClock, note: (call: Omit<ChannelCall, 'sessionID'>) => void): Output {
  return new Writable({
    write(chunk, _encoding, done) {
      const added = String(chunk)
      if (added !== '') note({ at: clock.now(), kind: 'write', platform: [], message: terminal.name, added })
      done()
    },
  })
}
