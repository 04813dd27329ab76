import { expect, test } from 'vitest'
import { statesOf } from '../../reply/test/web/recorded-states.ts'
import { createUIProjection } from '../src/index.ts'
import { readHave } from '../src/project/inbound.ts'
import { messageOf } from './recorded.ts'

test('what a page has of a call is read from the JSON of a POST, in which the output of a waiting call is absent', async () => {
  const [states = []] = await statesOf({ version: '1.18.33', scenario: 'permission-once', global: false })
  const blocked = states.findIndex(({ phase }) => phase === 'blocked')
  const projection = createUIProjection()
  const message = await messageOf(states.slice(0, blocked + 1).flatMap((reply) => projection.next(reply)))
  const calls = message.parts.flatMap((part) => (part.type === 'dynamic-tool' ? [part.toolCallId] : []))
  expect(calls).not.toEqual([])
  expect([...(readHave(JSON.parse(JSON.stringify(message)))?.tools.keys() ?? [])]).toEqual(calls)
})
