import { Writable } from 'node:stream'
import { consoleSink } from '@reply/console'
import { type Clock, emptyReply, type Reply } from '@reply/core'
import type { Path } from './path.ts'

/** The usual terminal, which repaints. */
export const consolePath: Path = {
  id: 'console',
  isEdited: false,
  open() {
    const stdout = Object.assign(new Writable({ write: (_chunk, _encoding, done) => done() }), {
      isTTY: true,
      columns: 120,
      rows: 40,
    })
    const { clock, runDue } = manualClock()
    const sink = consoleSink({ stdout, live: true, interactive: false, env: {}, clock })
    return (text, isOpen) => {
      const reply = replyOf(text, isOpen)
      sink.phaseChanged?.({ type: 'phaseChanged', phase: reply.phase, before: 'working', reply })
      runDue()
      return () => undefined
    }
  },
}

/** A stopped clock: due timers run on request. */
function manualClock(): { readonly clock: Clock; readonly runDue: () => void } {
  let due: (() => void)[] = []
  let now = 0
  return {
    clock: {
      now: () => now,
      monotonic: () => now,
      after(_delayMs, run) {
        due.push(run)
        return () => {
          due = due.filter((one) => one !== run)
        }
      },
    },
    runDue() {
      now += 1000
      const all = due
      due = []
      for (const run of all) run()
    },
  }
}

function replyOf(text: string, isOpen: boolean): Reply {
  const part = { id: 'prt_1', messageID: 'msg_2', raw: undefined, type: 'text', text } as const
  const messages = [
    { id: 'msg_2', parts: [{ ...part, status: isOpen ? ('open' as const) : ('sealed' as const) }], raw: undefined },
  ]
  const reply: Reply = { ...emptyReply('ses_1'), promptIDs: ['msg_1'], phase: 'working', messages }
  return isOpen ? reply : { ...reply, phase: 'settled', outcome: 'completed', finish: 'stop' }
}
