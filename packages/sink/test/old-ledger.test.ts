import { readFileSync } from 'node:fs'
import type { Ask } from '@reply/core'
import { expect, test } from 'vitest'
import { words } from '../src/english.ts'
import { toLedger } from '../src/ledger/decode.ts'
import { emptyLedger } from '../src/ledger/ledger.ts'
import { type FakeMessage, fakeRender } from '../src/testing/fake.ts'
import { intentEntry } from './entries.ts'
import { asks, permits, replyWith, text } from './make.ts'
import { pressing } from './pressing.ts'
import { createScene, type Scene } from './scene.ts'

/**
 * A ledger written at commit 23f4601, and what the chat showed then: one permission answered, two and a question open.
 */
const before: { readonly ledger: unknown; readonly screen: readonly FakeMessage[] } = JSON.parse(
  readFileSync(new URL('fixtures/ledger-before-digests.json', import.meta.url), 'utf8'),
)
const said = [{ ...text('I run the tests.'), id: 'prt_a' }]

async function resumed(pending: readonly Ask[], lacks: readonly 'edit'[] = []): Promise<Scene> {
  const scene = createScene({ fake: { lacks }, sink: { chat: { id: 'chat', kind: 'private' } } })
  for (const { text, buttons, isSilent, id } of before.screen) {
    const bubble = { ...fakeRender(text), source: text, isPlain: false, buttons }
    const { signal } = new AbortController()
    await scene.fake.port.post(bubble, { chat: { id: 'chat' }, silent: isSilent, key: id, signal })
    await scene.pass(1000)
  }
  await scene.store.write('chat/ses_1/msg_1', JSON.stringify(before.ledger))
  scene.show(replyWith(said, { phase: 'blocked', asks: pending }))
  for (let step = 0; step < 60; step++) await scene.pass(500)
  return scene
}

test('its open permissions are retired with a notice, and asked again with new tokens if pending', async () => {
  const scene = await resumed([permits(), asks()])
  const shown = scene.fake
    .screen()
    .map(({ text, buttons }) => ({ text, labels: buttons.flat().map(({ label }) => label) }))
  expect(shown.slice(0, 2)).toEqual([
    { text: 'I run the tests.', labels: [] },
    { text: '❓ May it? bash: ls\n\n✅ Allow once · Ada', labels: [] },
  ])
  for (const { text, labels } of shown.slice(2, 4)) {
    expect(text).toContain(words.superseded)
    expect(labels).toEqual([])
  }
  // The open question stays, with new tokens: the ledger has no hashes of the old ones.
  expect(scene.fake.screen()[4]).toMatchObject({ text: before.screen[4]?.text, edits: 1 })
  expect(shown[4]?.labels).toEqual(['Red', 'Green', 'Blue'])
  expect(shown).toHaveLength(6)
  expect(shown[5]?.text).toContain('npm test')
  expect(shown[5]?.labels).toEqual(['Allow once', 'Always', 'Reject'])
  const old = before.screen[2]?.buttons[0]?.[0]?.data ?? ''
  expect(await scene.sink().take(pressing(scene, old))).toBeUndefined()
  const token = scene.fake.screen()[5]?.buttons[0]?.[0]?.data ?? ''
  expect(await scene.sink().take(pressing(scene, token))).toMatchObject({ type: 'answer', answer: 'once' })
})

test('its open permissions show their results', async () => {
  const scene = await resumed([permits({ status: 'answered', reply: 'always' })])
  expect(scene.fake.screen()[2]?.text).toMatch(/✅ Always, for everyone who uses this server$/)
  expect(scene.fake.screen()).toHaveLength(5)
})

test('its open permissions are asked again without edits, too', async () => {
  const scene = await resumed([permits()], ['edit'])
  expect(scene.fake.screen()).toHaveLength(6)
  expect(await scene.sink().take(pressing(scene, before.screen[2]?.buttons[0]?.[0]?.data ?? ''))).toBeUndefined()
})

test('a ledger from before `told` was renamed has the same in `reported`', () => {
  const { reported: _, ...ledger } = emptyLedger
  const entry = intentEntry('notice-1#0')
  const old = { ...ledger, told: ['prt_a:completed'], entries: [{ ...entry, told: ['prt_b:error'] }] }
  expect(toLedger(JSON.stringify(old))).toEqual({
    ...emptyLedger,
    reported: ['prt_a:completed'],
    entries: [{ ...JSON.parse(JSON.stringify(entry)), reported: ['prt_b:error'] }],
  })
})
