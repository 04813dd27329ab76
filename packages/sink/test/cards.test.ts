import { readFileSync } from 'node:fs'
import type { PermissionAsk } from '@reply/core'
import { expect, test } from 'vitest'
import { permits, replyWith } from './make.ts'
import { createScene } from './scene.ts'

interface Real extends PermissionAsk {
  readonly from: string
}

/**
 * What real agents asked, in a project at `/project`: OpenCode 1.18.33, 1.1.65 and 0.0.0-next-16350 with a scripted model
 * and `permission: { "*": "ask" }`, and the recordings of `packages/agents`.
 */
const asked: readonly Real[] = JSON.parse(readFileSync(new URL('fixtures/asks.json', import.meta.url), 'utf8'))

async function cardOf(ask: PermissionAsk): Promise<string> {
  const scene = createScene({ fake: { limits: { maxLength: 4000 } }, sink: { chat: { id: 'chat', kind: 'private' } } })
  scene.show(replyWith([], { phase: 'blocked', asks: [permits(ask)] }))
  await scene.pass(1000)
  const [message, ...others] = scene.fake.screen()
  expect(others).toEqual([])
  return `${message?.text}\n\n[${message?.buttons
    .flat()
    .map(({ label }) => label)
    .join('] [')}]`
}

test('a card says what and where, what runs, and what "always" would allow, each thing once', async () => {
  const cards: string[] = []
  for (const { from, ...ask } of asked) cards.push(`# ${from}\n\n${await cardOf(ask)}\n`)
  await expect(cards.join('\n')).toMatchFileSnapshot('fixtures/cards.md')
})

test('a card names no path of the project twice, and no field of the wire', async () => {
  for (const { from, ...ask } of asked) {
    const card = await cardOf(ask)
    expect(card, from).not.toMatch(/filePath|filepath|subagent_type|replaceAll|\/project\/list/)
    expect(card, from).not.toContain('`*`')
    const command = ask.call?.input.command
    // A description may name the command.
    const said = card.replace(/^Description: .*$/m, '')
    if (typeof command === 'string') expect(said.split(command), from).toHaveLength(2)
  }
})
