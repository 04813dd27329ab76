import type { LocalRun } from '@reply/core/source'
import { expect, test } from 'vitest'
import { createAsks } from '../../src/acp/asks.ts'
import { dialects } from '../../src/acp/dialect.ts'
import { createSessionStore } from '../../src/acp/session-store.ts'

const ended: LocalRun = {
  sessionID: 'ses',
  directory: undefined,
  promptID: 'prompt',
  isOpen: () => false,
  write: () => {},
  ask: () => {},
  closeAsk: () => {},
  child: () => ended,
  end: () => {},
}

test('what is asked in a run that has ended is canceled, and not left without an answer', async () => {
  const sessions = createSessionStore(
    () => dialects[1],
    () => undefined,
  )
  const { permission, elicitation } = createAsks(
    sessions,
    () => ended,
    () => undefined,
  )
  const { signal } = new AbortController()
  const options = [{ optionId: 'yes', name: 'Yes', kind: 'allow_once' }]
  const asked = permission({ sessionId: 'ses', toolCall: { toolCallId: 'call' }, options }, signal)
  expect(await asked).toEqual({ outcome: { outcome: 'cancelled' } })
  expect(await elicitation({ sessionId: 'ses', message: 'How many?' }, signal)).toEqual({ action: 'cancel' })
})
