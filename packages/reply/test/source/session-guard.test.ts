import { expect, test } from 'vitest'
import { createSessionGuard } from '../../src/source/opencode1/guard.ts'

/** A server with these lists, whose agents ask for nothing. */
const guardOf = (lists: { readonly commands: unknown; readonly agents?: unknown }) =>
  createSessionGuard(
    {
      health: async () => ({ healthy: true, version: '1.18.33' }),
      agents: async () => lists.agents ?? [{ name: 'build', mode: 'primary', permission: [] }],
      commands: async () => lists.commands,
      session: async () => ({}),
      addRules: async () => undefined,
    },
    'the server',
  )

test.each([
  ['commands', { commands: [{ name: 'greet' }, { title: 'no name' }] }],
  ['commands at all', { commands: {} }],
  ['agents', { commands: [{ name: 'greet', agent: 'build' }], agents: {} }],
])('a guarded command is refused if the list of %s can not be read: it might start a sub-agent', async (_, lists) => {
  await expect(guardOf(lists).guard({ command: 'greet' })).rejects.toMatchObject({ type: 'unguarded' })
})

test('a guarded command that the server does not list is left to the server, which refuses it', async () => {
  expect(await guardOf({ commands: [] }).guard({ command: 'greet' })).toBe('next-run')
})
