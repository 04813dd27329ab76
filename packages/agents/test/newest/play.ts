import { mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { localAgentSkips, sourceContract } from '@reply/core/testing'
import type { NewestAgent } from './agent.ts'
import { NotOffered, newestScenes } from './scenes.ts'
import { scriptsFor } from './scripts.ts'
import { joinedShapes, type Shapes, shapesOf } from './shapes.ts'
import { killAllIn } from './stage.ts'
import type { Result } from './verdict.ts'

/** How long things may take, in ms. */
export interface Deadlines {
  readonly sceneMs: number
  readonly agentMs: number
}

/** How many scenes of an agent are played at the same time. */
const lanes = 3

/** Clauses that an agent may lack, with the reason. Those that it fulfills count. */
const lacking: Readonly<Record<string, string>> = {
  ...localAgentSkips('The agent'),
  'lists its models': 'It lists its models in a session only.',
  'lists its commands': 'It has no list of commands before its first session.',
  'runs a command': 'It has no command for this.',
  'tells the agent why a permission is rejected': 'It takes a decision without a reason.',
  "answers a sub-agent's permission, and lists the sub-agent as a child": 'It shows no sub-agents.',
  'allows what a permission says is always allowed': 'It has no rules that stay.',
}

/** The needs that a stage may lack, in the error of the contract. */
const lackingStage = 'The stage lacks something'

/** What an agent did with the scenes and the contract. */
export interface Played {
  readonly scenes: readonly Result[]
  readonly clauses: readonly Result[]
  readonly shapes: Shapes
}

/**
 * Plays all scenes and clauses of an agent, or the scenes that are named. Without a version, plays the scenes on the
 * version of the recordings. What fails or takes too long is a result.
 * Afterwards nothing that was started still runs, and no folder is left.
 */
export async function playAgent(
  agent: NewestAgent,
  version: string | undefined,
  { sceneMs, agentMs }: Deadlines,
  only: readonly string[] = [],
): Promise<Played> {
  const folder = mkdtempSync(join(tmpdir(), 'reply-newest-'))
  const before = process.env.TMPDIR
  // All homes and projects are made in it.
  process.env.TMPDIR = folder
  const end = Date.now() + agentMs
  let shapes: Shapes = {}
  const playScene = async (name: string): Promise<void> => {
    const reason = agent.lacks?.[name]
    if (reason !== undefined) throw new NotOffered(reason)
    const stage = await agent.open(version)
    try {
      const scripts = new Set(Object.keys(scriptsFor(agent.tools(stage.directory))))
      await within(sceneMs, newestScenes[name]?.(stage, { ...agent, scripts }))
    } finally {
      shapes = joinedShapes(shapes, shapesOf(stage.lines()))
      await stage.close()
    }
  }
  const names = Object.keys(newestScenes).filter((name) => only.length === 0 || only.includes(name))
  try {
    const scenes = await inLanes(
      names,
      async (name) => await resultOf(name, end, () => within(3 * sceneMs, playScene(name))),
    )
    const clauses = only.length === 0 && version !== undefined ? await playContract(agent, version, sceneMs, end) : []
    return { scenes, clauses, shapes }
  } finally {
    if (before === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = before
    await killAllIn(folder)
    await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
  }
}

async function playContract(
  agent: NewestAgent,
  version: string,
  sceneMs: number,
  end: number,
): Promise<readonly Result[]> {
  const prefix = 'clause '
  const stages = await agent.openContract(version).catch((error: unknown) => String(error))
  if (typeof stages === 'string') return [{ name: 'sourceContract', outcome: 'fails', reason: stages }]
  try {
    const clauses = sourceContract({ name: prefix.trim(), setup: stages.setup })
    return await inLanes(clauses, async ({ name: title, run }) => {
      const name = title.slice(prefix.length)
      const result = await resultOf(name, end, () => within(sceneMs, run()))
      if (result.outcome !== 'fails') return result
      const reason = lacking[name] ?? (result.reason.startsWith(lackingStage) ? result.reason : undefined)
      return reason === undefined ? result : { name, outcome: 'not offered', reason }
    })
  } finally {
    await stages.close()
  }
}

async function resultOf(name: string, end: number, play: () => Promise<unknown>): Promise<Result> {
  if (Date.now() > end) return { name, outcome: 'fails', reason: "The agent's time was over before it was played." }
  try {
    await play()
    return { name, outcome: 'holds' }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return { name, outcome: error instanceof NotOffered ? 'not offered' : 'fails', reason }
  }
}

/** Resolves as the promise does. Rejects if that takes longer. */
async function within<T>(ms: number, promise: Promise<T> | undefined): Promise<T | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`It took longer than ${ms / 1000} s.`)), ms)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Calls `act` with each item, a few at the same time, and returns the results in the order of the items. */
async function inLanes<T, R>(items: readonly T[], act: (item: T) => Promise<R>): Promise<readonly R[]> {
  const results: R[] = []
  const left = [...items.entries()]
  const work = async (): Promise<void> => {
    for (let next = left.shift(); next; next = left.shift()) results[next[0]] = await act(next[1])
  }
  await Promise.all(Array.from({ length: lanes }, work))
  return results
}
