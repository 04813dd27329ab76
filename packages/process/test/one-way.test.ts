import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { partsOf, type Reply, textOf } from '@reply/core'
import { connectSource } from '@reply/core/source'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { codexExec, geminiPrompt, type OneWayOptions, opencodeRun } from '../src/index.ts'

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'reply-one-way-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const sources = { codex: codexExec, gemini: geminiPrompt, opencode: opencodeRun }
const names = ['codex', 'gemini', 'opencode'] as const

/** A program that writes what was recorded, and its arguments to stderr. */
function programOf(script: string): string {
  const file = join(folder, `program-${Math.random()}`)
  writeFileSync(file, `#!/bin/sh\n${script}\n`)
  chmodSync(file, 0o755)
  return file
}

const recorded = (name: string): string =>
  `cat '${fileURLToPath(new URL(`recorded/one-way/${name}.jsonl`, import.meta.url))}'`

async function played(
  source: (options: OneWayOptions) => ReturnType<typeof codexExec>,
  script: string,
): Promise<Reply> {
  const agent = connectSource(source({ command: programOf(script), graceMs: 200 }))
  try {
    return await agent.prompt({ text: 'Go.' }).result
  } finally {
    await agent.close()
  }
}

const toolsOf = (reply: Reply) =>
  partsOf(reply).flatMap((part) =>
    part.type === 'tool' ? [[part.tool, part.state.status, part.state.input.command]] : [],
  )

describe.each(names)('%s, one-way', (name) => {
  test('speaks, and its tokens are counted', async () => {
    const reply = await played(sources[name], recorded(`${name}-text`))
    expect([reply.outcome, textOf(reply)]).toEqual(['completed', 'Hello there, nice to meet you.'])
    expect(reply.usage).toMatchObject({ input: 120, output: 24 })
  })

  test('runs a tool', async () => {
    const reply = await played(sources[name], recorded(`${name}-tool`))
    const expected = {
      codex: ['bash', 'completed', "/bin/bash -lc 'echo made'"],
      // It was not there without a permission for it.
      gemini: ['bash', 'error', 'echo made'],
      opencode: ['bash', 'completed', 'echo made'],
    }
    expect(toolsOf(reply)).toEqual([expected[name]])
    expect([reply.outcome, textOf(reply)]).toEqual(['completed', 'I run it.\n\nIt is made.'])
  })

  test('tells why it failed', async () => {
    const reply = await played(sources[name], `${recorded(`${name}-error`)}; exit 1`)
    expect(reply.outcome).toBe('failed')
    expect(reply.error?.message).toContain('The scripted provider refuses this.')
  })

  test('that dies in the middle of a line fails its reply, and says how', async () => {
    const reply = await played(sources[name], `printf '{"type":"te'; echo 'It broke.' >&2; exit 4`)
    expect([reply.outcome, reply.error?.message.replace(/^.*program-[\d.]+/, '')]).toEqual([
      'failed',
      ' exited with code 4. It broke.',
    ])
  })

  test('is ended by an abort', async () => {
    const agent = connectSource(sources[name]({ command: programOf('sleep 100'), graceMs: 200 }))
    const stream = agent.prompt({ text: 'Go.' })
    await stream.abort()
    expect((await stream.result).outcome).toBe('aborted')
    await agent.close()
  })
})

test.each([
  ['codex', /resume -- 01a206d7-4c27-7821-80d0-8dacf1bc5f21 Go\.$/],
  ['opencode', /--session ses_df927f49affemZhA7CtzZ17xpZ -- Go\.$/],
] as const)('%s goes on with its session', async (name, expected) => {
  const file = join(folder, `${name}.args`)
  const agent = connectSource(
    sources[name]({ command: programOf(`echo "$@" > '${file}'; ${recorded(`${name}-text`)}`) }),
  )
  const first = await agent.prompt({ text: 'Go.' }).result
  await agent.prompt({ text: 'Go.', sessionID: first.sessionID }).result
  await agent.close()
  expect(readFileSync(file, 'utf8').trim()).toMatch(expected)
})

test.each([
  ['codex', /-- --yolo$/],
  ['gemini', /--prompt=--yolo$/],
  ['opencode', /-- --yolo$/],
] as const)('%s takes no text as an option', async (name, expected) => {
  const file = join(folder, `${name}.text`)
  const agent = connectSource(sources[name]({ command: programOf(`echo "$@" > '${file}'`) }))
  await agent.prompt({ text: '--yolo' }).result
  await agent.close()
  expect(readFileSync(file, 'utf8').trim()).toMatch(expected)
})
