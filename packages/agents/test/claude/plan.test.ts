import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type PermissionAsk, systemClock, textOf, toolsOf } from '@reply/core'
import { connectSource } from '@reply/core/source'
import { createSink, memoryStore } from '@reply/sink'
import { createFake, fakeRender } from '@reply/sink/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { claude } from '../../src/claude.ts'
import { writeReplayProgram } from './replay-program.ts'

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'reply-plan-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const written = '# The plan\\n\\n1. Make it.'

/** Plays the recorded request to leave plan mode, and shows it in a chat that takes no files. */
async function asked(recording: string, plan = written) {
  const command = join(folder, recording.replaceAll('/', '-'))
  writeReplayProgram(command, recording, (lines) => lines.replaceAll(written, plan))
  const fake = createFake({ clock: systemClock, lacks: ['upload'] })
  const chat = { id: 'chat', kind: 'private' } as const
  const sink = createSink({ port: fake.port, render: fakeRender, chat, store: memoryStore() })
  const client = connectSource(claude({ command, cwd: folder }))
  let stream: ReturnType<typeof client.prompt> | undefined
  const ask = await new Promise<PermissionAsk>((resolve) => {
    const observer = { permissionAsked: ({ ask: one }: { readonly ask: PermissionAsk }) => resolve(one) }
    stream = client.prompt({ text: 'Go.' }, { observe: () => [sink, observer] })
  })
  const shown = () => fake.screen().map(({ text }) => text)
  const labels = () => fake.screen().flatMap(({ buttons }) => buttons.flat().map(({ label }) => label))
  return { ask, client, shown, labels, reply: async () => await stream?.result }
}

describe.each(['2.1.197', '2.1.332'])('Claude Code %s', (version) => {
  test.each([
    ['plan', '# The plan\n\n1. Make it.'],
    ['plan-file', '# The plan of the file\n\n1. Make it.'],
  ])('shows the whole plan to a person who may allow it, and gets it back: %s', async (name, plan) => {
    const { ask, client, shown, labels, reply } = await asked(`${version}/${name}`)
    await expect.poll(labels, { timeout: 20_000 }).toEqual(['Allow once', 'Reject'])
    expect(shown().join('\n')).toContain(`**Plan**\n\`\`\`\n${plan}\n\`\`\``)
    await client.answer(ask, 'once')
    const settled = await reply()
    await client.close()
    expect(settled && toolsOf(settled)).toMatchObject([{ tool: 'ExitPlanMode', state: { input: { plan } } }])
    expect([settled?.outcome, settled && textOf(settled)]).toEqual(['completed', 'I make it now.'])
  })

  test('says that there is no plan', async () => {
    const { client, shown, labels } = await asked(`${version}/plan-missing`)
    await expect.poll(labels, { timeout: 20_000 }).toEqual(['Allow once', 'Reject'])
    expect(shown().join('\n')).toContain('Claude Code wrote no plan. Allowing this only ends plan mode.')
    await client.close()
  })

  test('a plan that is too long to be shown can only be rejected', async () => {
    const long = Array.from({ length: 2000 }, (_, at) => `${at}. Make it.`).join('\\n')
    const { client, labels } = await asked(`${version}/plan`, long)
    await expect.poll(labels, { timeout: 20_000 }).toEqual(['Reject'])
    await client.close()
  })
})
