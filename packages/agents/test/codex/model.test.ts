import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Reply, textOf } from '@reply/core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { modelsIn } from '../../src/codex/decode/request.ts'
import type { ThreadSettings } from '../../src/codex/decode/settings.ts'
import { createThreadSettings } from '../../src/codex/thread-settings.ts'
import { codex } from '../../src/codex.ts'
import { recordingOf } from '../replay.ts'
import { codexVersions } from './codex-stage.ts'
import { writeReplayProgram } from './replay-program.ts'
import { codexScenes, connectScene } from './scenes.ts'
import { scriptedListener } from './scripted-listener.ts'

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'reply-codex-model-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Plays a scene on its recording, whose program ends with an error if it is sent other models than Codex was. */
async function played(version: string, name: string): Promise<readonly Reply[]> {
  const command = join(folder, `${version}-${name}`)
  writeReplayProgram(command, `${version}/${name}`)
  const stage = connectScene(codex({ command, cwd: folder, graceMs: 200 }))
  const replies = await codexScenes[name]?.play({ ...stage, directory: folder })
  await stage.client.close()
  return replies ?? []
}

const endsOf = (replies: readonly Reply[]) =>
  replies.map((reply) => [reply.outcome, reply.error?.message ?? textOf(reply)])

/** The models and efforts that were sent, in order. */
const sentIn = (recording: string) =>
  recordingOf('codex', recording).flatMap(({ from, line }) => {
    const { model, effort, collaborationMode: mode } = Object(line.params)
    return from === 'us'
      ? [[line.method, model, mode ? [mode.settings.model, mode.settings.reasoning_effort] : effort]]
      : []
  })

describe.each(codexVersions)('Codex %s', (version) => {
  test("a prompt's model and effort are for its turn alone", async () => {
    const answer = ['completed', 'Hello there, nice to meet you.']
    expect(endsOf(await played(version, 'model'))).toEqual([answer, answer, answer, answer])
    expect(sentIn(`${version}/model`)).toEqual([
      ['turn/start', 'another', 'high'],
      ['thread/settings/update', undefined, ['scripted', null]],
      ['turn/start', undefined, undefined],
      ['turn/start', 'scripted', 'low'],
      ['thread/settings/update', undefined, ['scripted', null]],
      ['turn/start', undefined, undefined],
    ])
  })

  test('a model that the provider does not have fails its reply, and does not stay', async () => {
    expect(endsOf(await played(version, 'model-unknown'))).toEqual([
      ['failed', 'The model `nonesuch` does not exist.'],
      ['completed', 'Hello there, nice to meet you.'],
    ])
  })

  test('a prompt joins a turn with its own model, and is refused during one with another', async () => {
    const [refused, joined] = await played(version, 'model-busy')
    expect(refused?.outcome).toBe('failed')
    expect(refused?.error?.message).toContain('a prompt for the model third while it works with the model another')
    expect(joined && [joined.outcome, textOf(joined), joined.promptIDs.length]).toEqual([
      'completed',
      'I begin.\n\nThe second answer.',
      2,
    ])
  })
})

const own: ThreadSettings = { model: 'own', effort: undefined, provider: 'mine', mode: undefined }
const another = { model: { providerID: 'openai', modelID: 'another' } }

/** The settings of the thread `t`, and what is sent to Codex. `errors` are its first answers. */
function settingsOfThread(...errors: readonly Error[]) {
  const left = [...errors]
  const sent: object[] = []
  const settings = createThreadSettings('codex', async (params) => {
    sent.push(params)
    const error = left.shift()
    if (error) throw error
  })
  settings.opened('t', own)
  return { settings, sent }
}

test('an own model that Codex refused to set is set before the next prompt, also in its next process', async () => {
  const { settings, sent } = settingsOfThread(new Error('refused'))
  settings.set('t', another, undefined)
  await expect(settings.restore('t')).rejects.toThrow('refused')
  settings.opened('t', { ...own, model: 'another' })
  await settings.restore('t')
  await settings.restore('t')
  expect(sent).toEqual([
    { threadId: 't', model: 'own' },
    { threadId: 't', model: 'own' },
  ])
})

test('a model that another client chose meanwhile is restored, with the mode of the thread', async () => {
  const { settings, sent } = settingsOfThread()
  const mode = { name: 'plan', instructions: 'Plan.' }
  settings.changed('t', { ...own, model: 'chosen', mode })
  settings.set('t', { ...another, variant: 'high' }, undefined)
  settings.changed('t', { ...own, model: 'another', effort: 'high', mode })
  await settings.restore('t')
  const restored = { model: 'chosen', reasoning_effort: null, developer_instructions: 'Plan.' }
  expect(sent).toEqual([{ threadId: 't', collaborationMode: { mode: 'plan', settings: restored } }])
})

test.each([
  [
    { model: { providerID: 'anthropic', modelID: 'a' } },
    'unsupported',
    'the provider anthropic. Take one of openai or mine.',
  ],
  [{ model: { providerID: 'openai', modelID: '' } }, 'invalid', 'model of a prompt is empty'],
  [{ variant: '' }, 'invalid', 'variant of a prompt is empty'],
])('settings that can not be right are refused, and nothing is set: %o', async (prompt, type, message) => {
  const { settings, sent } = settingsOfThread()
  const refused = () => settings.set('t', prompt, undefined)
  expect(refused).toThrow(expect.objectContaining({ type, message: expect.stringContaining(message) }))
  await settings.restore('t')
  expect(sent).toEqual([])
})

test("the thread's own model needs no change", () => {
  const { settings } = settingsOfThread()
  expect(settings.set('t', { model: { providerID: 'mine', modelID: 'own' } }, undefined)).toEqual({})
})

test('a page of models has their efforts as variants, and the cursor of the next page', () => {
  const supportedReasoningEfforts = [{ reasoningEffort: 'low' }]
  const data = [{ model: 'm', displayName: 'M', supportedReasoningEfforts }]
  expect(modelsIn({ data, nextCursor: 'c' })).toEqual({
    items: [{ info: { providerID: 'openai', modelID: 'm', name: 'M', variants: ['low'] }, isDefault: false }],
    next: 'c',
  })
})

test("a prompt may have pictures if its model, its thread's or Codex's default takes them", async () => {
  const listed = (model: string, ...inputModalities: readonly string[]) => ({
    ...{ model, displayName: model, inputModalities, isDefault: model === 'plain' },
  })
  const data = [listed('seeing', 'text', 'image'), listed('plain', 'text'), listed('other', 'text', 'image')]
  const seeing = { thread: { id: 'thread_1', cwd: '/project' }, model: 'seeing', modelProvider: 'mine' }
  const respond = (method: string) => {
    if (method === 'model/list') return { result: { data } }
    return method === 'thread/start' ? { result: seeing } : undefined
  }
  const { url, close } = await scriptedListener(respond)
  const source = codex({ url })
  expect(await source.takes?.({})).toEqual(['text'])
  const { sessionID } = await source.create({ directory: '/project' })
  expect(await source.takes?.({ sessionID })).toEqual(['text', 'image'])
  expect(await source.takes?.({ sessionID, model: { providerID: 'mine', modelID: 'plain' } })).toEqual(['text'])
  source.close?.()
  const chosen = codex({ url, model: 'other' })
  expect(await chosen.takes?.({})).toEqual(['text', 'image'])
  chosen.close?.()
  close()
})
