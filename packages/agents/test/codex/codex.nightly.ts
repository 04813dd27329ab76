import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { textOf, toolsOf } from '@reply/core'
import { connectSource } from '@reply/core/source'
import { readableAgentSkips, type SourceStage, sourceContract } from '@reply/core/testing'
import { agentBinary } from '@reply/testing/internal'
import { describe, expect, test } from 'vitest'
import { codexVersions, startCodexStage } from './codex-stage.ts'
import { findEarlier, makeEarlier } from './earlier.ts'
import { codexScenes, connectScene } from './scenes.ts'

/** Its histories have no calls. */
const unlistedAgents = { "lists a session's sub-agents": 'Codex 0.150.0 keeps no calls of earlier sessions.' }

type Stage = Awaited<ReturnType<typeof startCodexStage>>

/** Adds an earlier session to the stage. */
async function withEarlier(stage: Stage): Promise<Stage & SourceStage> {
  const { directory, model, source } = stage
  const { posted, childID } = await makeEarlier(stage.open(), directory, model)
  const { sessionID } = posted
  const { messages } = await source.startReading().session({ sessionID, directory }, { messageIDs: [] })
  const texts = messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])))
  const messageIDs = messages.map(({ head }) => head.id)
  return { ...stage, existing: { sessionID, messageIDs, answer: texts.at(-1) ?? '', childIDs: [childID] } }
}

const noQueue = 'Codex takes prompts into the running turn at once.'

const skips = {
  ...readableAgentSkips('Codex'),
  'keeps a queued prompt behind a run, and lists it': noQueue,
  'takes back a prompt that waits, once': noQueue,
  'tells the agent why a permission is rejected': 'Codex takes a decision without a reason.',
  'lists its commands': 'Codex has no slash commands in this mode.',
  'runs a command': 'Codex has no slash commands in this mode.',
}

describe.each(codexVersions)('Codex %s', (version) => {
  const skip = { ...skips, ...(version === '0.150.0' && unlistedAgents) }
  const setup = async (args?: readonly string[]) => await startCodexStage(await agentBinary('codex', version), { args })

  for (const { name, run } of sourceContract({
    name: 'Codex',
    setup: async () => await withEarlier(await setup()),
    skip,
  }))
    test(name, run)

  test.each(Object.entries(codexScenes))('%s', async (_, { args, failures = 0, play }) => {
    const stage = await setup(args)
    const { directory, model } = stage
    const scene = connectScene(stage.source)
    const replies = await play({ ...scene, directory, model })
    await scene.client.close()
    await stage.close()
    expect(replies.filter(({ outcome }) => outcome === 'failed').length).toBe(failures)
  })

  test('finds a prompt of a process that was killed, and copies its session', async () => {
    const stage = await setup()
    const { directory, model, source } = stage
    const earlier = await makeEarlier(stage.open(), directory, model)
    const { cut, copied, childTexts } = await findEarlier(source, directory, earlier)
    await stage.close()
    expect([cut.outcome, cut.prompt?.text]).toEqual(['aborted', '[scenario:slow] Go.'])
    expect(copied).toContain('It works.')
    expect(childTexts).toContain('The child is done.')
  })

  test('shows a sub-agent as a child, whose permission is asked for in the reply', async () => {
    const stage = await setup()
    const agent = connectSource(stage.source)
    const reply = await agent.prompt(
      { text: '[scenario:delegate] Go.' },
      { observe: () => [{ permissionAsked: ({ ask }) => void agent.answer(ask, 'once') }] },
    ).result
    await agent.close()
    await stage.close()
    expect(reply.outcome).toBe('completed')
    expect(reply.children.map(({ callID, reply: child }) => [callID, child.outcome, textOf(child)])).toEqual([
      [toolsOf(reply)[0]?.callID, 'completed', 'The child works.\n\nThe child is done.'],
    ])
    expect(reply.asks).toMatchObject([
      { status: 'answered', path: [reply.sessionID, reply.children[0]?.reply.sessionID] },
    ])
  })

  test('an abort ends a sub-agent at work, too', async () => {
    const stage = await setup()
    const agent = connectSource(stage.source)
    const stream = agent.prompt(
      { text: '[scenario:delegate] Go.' },
      { observe: () => [{ permissionAsked: () => void stream.abort() }] },
    )
    const reply = await stream.result
    expect([reply.outcome, reply.children[0]?.reply.outcome]).toEqual(['aborted', 'aborted'])
    const next = await agent.prompt({ text: '[scenario:plain] Go.', sessionID: reply.sessionID }).result
    expect([next.outcome, textOf(next)]).toEqual(['completed', 'Hello there, nice to meet you.'])
    await agent.close()
    expect(existsSync(join(stage.directory ?? '', 'child.txt'))).toBe(false)
    await stage.close()
  })

  test('has its plan as todos where the plan tool is enabled', async () => {
    const args = ['-c', 'tools.update_plan.enabled=true']
    const stage = await setup(args)
    const agent = connectSource(stage.source)
    const { outcome, todos } = await agent.prompt({ text: '[scenario:plan] Go.' }).result
    await agent.close()
    await stage.close()
    expect([outcome, todos.map(({ content, status }) => [content, status])]).toEqual([
      'completed',
      [
        ['Read', 'completed'],
        ['Write', 'in_progress'],
      ],
    ])
  })
})
