import { expect, test } from 'vitest'
import { toExecution } from '../src/state/decode.ts'
import { type Execution, phases, statuses } from '../src/state/execution.ts'

const place = { channel: 'wa', chat: { id: '1' } }
const prompt = {
  ...place,
  id: 'p',
  actor: { id: '1', name: 'Ann' },
  text: 'Go',
  files: [],
  messageRef: { id: 'm' },
  receivedAt: 1,
  isCommand: false,
}

test.each(statuses.flatMap((status) => phases.map((phase) => [status, phase] as const)))(
  'an execution that is %s and %s is read as it was written',
  (status, phase) => {
    const written: Execution = { id: 'a', prompt, server: 'home', phase, status, startedAt: 1 }
    expect(toExecution(JSON.stringify(written))).toEqual(written)
  },
)
