import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ReplyObserver, textOf } from '@reply/core'
import { connectSource } from '@reply/core/source'
import { readableAgentSkips, sourceContract } from '@reply/core/testing'
import { agentBinary } from '@reply/testing/internal'
import { describe, expect, test } from 'vitest'
import { claude } from '../../src/claude.ts'
import { heldClock } from '../held-clock.ts'
import { claudeEnv, startScripted } from '../scripted-stage.ts'
import { backgroundScenes } from './background-scenes.ts'
import { claudeScripts, startClaudeStage } from './claude-stage.ts'
import { outlineOf, playRecorded } from './recorded-scene.ts'
import { promptScenes, writeSceneFiles } from './scenes.ts'

/** An older version, and a newest one. */
const versions = ['2.1.197', '2.1.332']

describe.each(versions)('Claude Code %s', (version) => {
  const setup = async () => await startClaudeStage(await agentBinary('claude', version))

  for (const { name, run } of sourceContract({ name: 'Claude Code', setup, skip: readableAgentSkips('Claude Code') }))
    test(name, run)

  test.each(Object.keys(backgroundScenes))('%s', async (name) => {
    const stage = await setup()
    const client = connectSource(stage.source)
    const { directory, model } = stage
    const replies = await backgroundScenes[name]?.({ client, directory, model })
    await client.close()
    await stage.close()
    const expected: Readonly<Record<string, number>> = { 'background-asked': 5, 'background-endless': 2 }
    expect(replies?.length).toBe(expected[name] ?? 3)
  })

  test.each(
    Object.entries(promptScenes).flatMap(([name, { versions = [version] }]) =>
      versions.includes(version) ? [name] : [],
    ),
  )('%s', async (name) => {
    const scene = promptScenes[name] ?? expect.fail(`There is no scene ${name}.`)
    const command = await agentBinary('claude', version)
    const stage = await startScripted(claudeScripts)
    const { directory, model } = stage
    writeSceneFiles(scene, directory)
    const client = connectSource(claude({ command, args: scene.args, cwd: directory, env: claudeEnv(stage) }))
    const replies = await scene.play({ client, directory, model })
    await client.close()
    await stage.close()
    const folder = mkdtempSync(join(tmpdir(), 'reply-recorded-'))
    const recorded = await playRecorded(folder, version, name)
    rmSync(folder, { recursive: true })
    expect(outlineOf(replies)).toEqual(outlineOf(recorded.replies))
  })

  test('its tasks are the checklist of the reply', async () => {
    const stage = await setup()
    const agent = connectSource(stage.source)
    const { outcome, todos } = await agent.prompt({ text: '[scenario:tasks] Go.' }).result
    await agent.close()
    await stage.close()
    expect([outcome, todos]).toEqual([
      'completed',
      [
        { content: 'Read', status: 'completed' },
        { content: 'Write', status: 'in_progress' },
      ],
    ])
  })

  test('the copy of a session without a turn takes prompts', async () => {
    const stage = await setup()
    const agent = connectSource(stage.source)
    const { sessionID } = await stage.source.create({ directory: stage.directory })
    const copy = await agent.fork(sessionID)
    const reply = await agent.prompt({ text: '[scenario:plain] Go.', sessionID: copy.sessionID }).result
    await agent.close()
    await stage.close()
    expect([reply.outcome, textOf(reply)]).toEqual(['completed', stage.prompts?.plain.answer])
  })

  test('a copy ends where the session ended when it was copied, or before the named prompt', async () => {
    const stage = await setup()
    const agent = connectSource(stage.source)
    const ids: string[] = []
    const say = async (word: string, sessionID?: string): Promise<string> => {
      const reply = await agent.prompt({ text: `[scenario:plain] ${word}`, sessionID }).result
      expect([reply.outcome, textOf(reply)]).toEqual(['completed', stage.prompts?.plain.answer])
      ids.push(...reply.promptIDs)
      return reply.sessionID
    }
    const sessionID = await say('First')
    for (const word of ['Second', 'Third', 'Fourth', 'Fifth']) await say(word, sessionID)
    const whole = (await agent.fork(sessionID)).sessionID
    const cut = (await agent.fork(sessionID, ids[1])).sessionID
    const empty = (await agent.fork(sessionID, ids[0])).sessionID
    await say('Sixth', sessionID)
    const told = async (copyID: string): Promise<readonly string[]> => {
      await say('Copied', copyID)
      const body = JSON.stringify(stage.model.requests.at(-1)?.body)
      return ['First', 'Second', 'Fifth', 'Sixth', 'Copied'].filter((word) => body.includes(`[scenario:plain] ${word}`))
    }
    const texts = async (copyID: string): Promise<readonly string[]> => {
      const place = { sessionID: copyID, directory: undefined }
      const { messages } = await stage.source.startReading().session(place, { messageIDs: [] })
      return messages.flatMap(({ head, parts }) =>
        head.role === 'user' ? parts.flatMap((part) => (part.type === 'text' ? [part.text.slice(17)] : [])) : [],
      )
    }
    expect([await texts(cut), await texts(empty)]).toEqual([['First'], []])
    expect(await told(cut)).toEqual(['First', 'Copied'])
    expect(await texts(cut)).toEqual(['First', 'Copied'])
    expect(await told(empty)).toEqual(['Copied'])
    expect(await told(whole)).toEqual(['First', 'Second', 'Fifth', 'Copied'])
    await expect(agent.fork(sessionID, 'unknown')).rejects.toMatchObject({ type: 'gone' })
    await agent.close()
    await stage.close()
  })

  test('the text of a sub-agent in the foreground is its own', async () => {
    const stage = await setup()
    const agent = connectSource(stage.source)
    const permissionAsked: ReplyObserver['permissionAsked'] = ({ ask }) => void agent.answer(ask, 'once')
    const prompt = { text: '[scenario:delegate-waiting] Go.' }
    const { children } = await agent.prompt(prompt, { observe: () => [{ permissionAsked }] }).result
    await agent.close()
    await stage.close()
    // 2.1.197 sends its calls alone.
    const text = version === '2.1.197' ? '' : 'The child works.\n\nThe child is done.'
    expect(children.map(({ reply }) => [textOf(reply), reply.outcome])).toEqual([[text, 'completed']])
  })

  test('it resumes a session whose process was ended because it was idle', async () => {
    const hourMs = 3_600_000
    const { clock, elapse } = heldClock(hourMs)
    const stage = await startClaudeStage(await agentBinary('claude', version), {
      clock,
      idleMs: hourMs,
      model: 'claude-sonnet-4-5',
    })
    const agent = connectSource(stage.source)
    const { sessionID, usage } = await agent.prompt({ text: '[scenario:plain] Begin.' }).result
    elapse()
    const last = await agent.prompt({ text: '[scenario:plain] Go on.', sessionID }).result
    await agent.close()
    await stage.close()
    expect([last.outcome, textOf(last), last.sessionID]).toEqual(['completed', stage.prompts?.plain.answer, sessionID])
    // From 2.1.318 on, the total of a resumed session continues, so only the cost of its own turn counts.
    expect(usage.cost).toBeGreaterThan(0)
    expect(last.usage.cost).toBeCloseTo(usage.cost, 6)
    // The history came with the second request.
    const { body } = stage.model.requests.at(-1) ?? {}
    expect(JSON.stringify(body)).toContain('Begin.')
  })
})
