import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Ask, filesOf, type PromptInput, type Reply, type ReplyObserver, textOf, toolsOf } from '@reply/core'
import { backgroundScenes } from '../claude/background-scenes.ts'
import { collectReplies } from '../collect-replies.ts'
import { texts } from './scripts.ts'
import type { NewestStage } from './stage.ts'

/** Thrown by a scene that the agent declares it can't play. */
export class NotOffered extends Error {
  override readonly name = 'NotOffered'
}

/** A scene rejects with an error that says what differs. */
export type NewestScene = (stage: NewestStage, agent: SceneAgent) => Promise<void>

/** What a scene has to know of its agent. */
export interface SceneAgent {
  /** Scenes that it can't play for another reason than a missing tool. */
  readonly lacks?: Readonly<Record<string, string>> | undefined
  /** The names of the scripts that its tools allow. */
  readonly scripts: ReadonlySet<string>
  /** Another model. Absent if it has only one. */
  readonly otherModel?: { readonly providerID: string; readonly modelID: string } | undefined
  /** Whether it reports costs. */
  readonly hasCost: boolean
  /** The prompt that replaces its history with a summary, or `call` for a call of its own. Absent if it can't. */
  readonly compacts?: `/${string}` | 'call' | undefined
}

/** A red dot. */
const png =
  'iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4//8/w38GIAXDIBKE0DHxgljNBAAO9TXL0Y4OHwAAAABJRU5ErkJggg=='

/** All scenes, in the order in which they are played. */
export const newestScenes: Readonly<Record<string, NewestScene>> = {
  text: async (stage) => await answers(stage, 'plain', texts.plain),
  'long text': async (stage) => await answers(stage, 'long', texts.long),
  'markdown with code': async (stage) => await answers(stage, 'markdown', texts.markdown),
  'unicode and emoji': async (stage) => await answers(stage, 'unicode', texts.unicode),
  'tool call': async (stage) => {
    const reply = await run(stage, 'look')
    check(
      toolsOf(reply)[0]?.state.status === 'completed',
      `its call is ${toolsOf(reply)[0]?.state.status ?? 'missing'}`,
    )
    ends(reply, 'completed', 'I looked.')
  },
  'permission allowed': async (stage) => {
    const reply = await run(stage, 'permission', { once: allow(stage) })
    ends(reply, 'completed', 'It is made.')
    check(
      reply.asks.some(({ status }) => status === 'answered'),
      'it asked for no permission',
    )
    check(isMade(stage, 'made.txt'), 'the command was allowed, and did not run')
  },
  'permission rejected': async (stage) => {
    const reply = await run(stage, 'permission', { once: (ask) => stage.client().reject(ask) })
    check(
      reply.asks.some(({ status }) => status === 'rejected'),
      'nothing was rejected',
    )
    check(!isMade(stage, 'made.txt'), 'the command was rejected, and ran')
    check(reply.outcome !== 'failed' && reply.outcome !== 'lost', describe(reply))
  },
  question: async (stage, agent) => {
    offered(agent, 'question', 'it has no tool for questions')
    const reply = await run(stage, 'question', { once: (ask) => stage.client().answer(ask, [['Blue']]) })
    ends(reply, 'completed', 'Thanks.')
    check(
      reply.asks.some(({ type }) => type === 'question'),
      'it asked no question',
    )
    const { results } = requestsFor(stage, 'question')
    check(results.includes('Blue'), `the model was not given the answer, but: ${results.slice(-300)}`)
  },
  checklist: async (stage, agent) => {
    offered(agent, 'todos', 'it has no tool for a checklist')
    const reply = await run(stage, 'todos', { once: allow(stage) })
    ends(reply, 'completed', 'Planned.')
    const todos = reply.todos.map(({ content, status }) => `${content} ${status}`).join(', ')
    check(todos === 'Read completed, Write in_progress', `its checklist is: ${todos}`)
  },
  'sub-agent': async (stage, agent) => {
    offered(agent, 'delegate', 'it has no sub-agents')
    const reply = await run(stage, 'delegate', { once: allow(stage) })
    ends(reply, 'completed', 'The agent is done.')
    const [child] = reply.children
    check(child !== undefined, 'it shows no sub-agent')
    if (child) ends(child.reply, 'completed', 'The child is done.')
  },
  "sub-agent's permission": async (stage, agent) => {
    offered(agent, 'delegate-asking', 'it has no sub-agents')
    const reply = await run(stage, 'delegate-asking', { once: allow(stage) })
    ends(reply, 'completed', 'The agent is done.')
    check(isMade(stage, 'child.txt'), "the sub-agent's command did not run")
    check(
      reply.asks.some(({ path }) => path.length === 2),
      'no sub-agent asked',
    )
  },
  'permission of a sub-agent in the background': async (stage, agent) => {
    offered(agent, 'background-agent', 'it has no sub-agents in the background')
    const replies = await inBackground(stage, 'background-agent')
    check(isMade(stage, 'child.txt'), "the sub-agent's command did not run")
    check(
      replies.every(({ outcome }) => outcome === 'completed'),
      replies.map(describe).join(' | '),
    )
  },
  'command in the background': async (stage, agent) => {
    offered(agent, 'background-command', 'it runs no commands in the background')
    const replies = collectReplies(stage.client(), stage.directory)
    stage.model.release('woken')
    const first = await run(stage, 'background-command', { once: allow(stage) })
    ends(first, 'completed', 'It runs.')
    writeFileSync(join(stage.directory, 'done.txt'), '')
    await replies.settled((settled) => settled.some((reply) => textOf(reply).includes('The command is done.')))
  },
  'prompt sent meanwhile': async (stage, agent) => {
    offered(agent, 'background-command', 'it does nothing after its answer')
    const [, woken, second] = await inBackground(stage, 'background-command')
    const both = [woken, second].map((reply) => (reply ? textOf(reply) : '')).join(' | ')
    check(both === 'The command is done. | The second answer.', `the answers are: ${both}`)
  },
  'Stop with a sub-agent in the background': async (stage, agent) => {
    offered(agent, 'background-endless', 'it has no sub-agents in the background')
    const replies = await inBackground(stage, 'background-endless')
    const outcomes = replies.map(({ outcome, children }) => [outcome, ...children.map(({ reply }) => reply.outcome)])
    check(outcomes.flat().includes('aborted'), `nothing was aborted: ${JSON.stringify(outcomes)}`)
  },
  'Stop in mid-answer': async (stage) => {
    const stream = prompt(stage, 'endless', {
      partChanged: ({ reply }) => void (textOf(reply).includes('I begin') && stream.abort()),
    })
    const reply = await stream.result
    check(reply.outcome === 'aborted', describe(reply))
    ends(await run(stage, 'plain', { sessionID: reply.sessionID }), 'completed', texts.plain)
  },
  'Stop while it asks': async (stage) => {
    const stream = prompt(stage, 'permission', { permissionAsked: () => void stream.abort() })
    const reply = await stream.result
    check(reply.outcome === 'aborted', describe(reply))
    check(
      reply.asks.every(({ status }) => status !== 'pending'),
      'the permission is still open',
    )
    ends(await run(stage, 'plain', { sessionID: reply.sessionID }), 'completed', texts.plain)
    check(!isMade(stage, 'made.txt'), 'the command was not allowed, and ran')
  },
  'a refused key': async (stage) => {
    const reply = await run(stage, 'unauthorized')
    check(reply.outcome === 'failed' && reply.error?.message !== '', describe(reply))
  },
  'a busy model': async (stage) => {
    ends(await run(stage, 'busy'), 'completed', 'At last.')
  },
  'a cut answer': async (stage) => {
    const reply = await run(stage, 'cut')
    const isRetried = reply.outcome === 'completed' && textOf(reply).endsWith('The whole answer.')
    check(isRetried || (reply.outcome === 'failed' && reply.error !== undefined), describe(reply))
  },
  'two prompts of a session': async (stage) => {
    const { sessionID } = await run(stage, 'markdown')
    const reply = await run(stage, 'plain', { sessionID })
    ends(reply, 'completed', texts.plain)
    hasHistory(stage)
  },
  'session of an earlier process': async (stage) => {
    const { sessionID } = await run(stage, 'markdown')
    await stage.restart()
    const reply = await run(stage, 'plain', { sessionID })
    ends(reply, 'completed', texts.plain)
    check(reply.sessionID === sessionID, 'it is another session')
    hasHistory(stage)
  },
  'killed in mid-turn': async (stage) => {
    const stream = prompt(stage, 'endless')
    await stage.model.held('forever')
    await stage.kill()
    const reply = await stream.result
    check(reply.outcome === 'failed' || reply.outcome === 'lost', `the killed turn: ${describe(reply)}`)
    check(reply.error !== undefined, 'it gives no reason')
    ends(await run(stage, 'plain'), 'completed', texts.plain)
  },
  'tokens and cost': async (stage, { hasCost }) => {
    const { usage } = await run(stage, 'plain')
    check(usage.input + usage.cacheRead > 0 && usage.output > 0, `it reports no tokens: ${JSON.stringify(usage)}`)
    if (hasCost) check(usage.cost > 0, 'it reports no cost')
  },
  'image in': async (stage) => {
    const files = [{ url: `data:image/png;base64,${png}`, mime: 'image/png', filename: 'dot.png' }]
    ends(await run(stage, 'plain', { files }), 'completed', texts.plain)
    check(requestsFor(stage, 'plain').json.includes(png.slice(0, 40)), 'the model got no image')
  },
  'image out': async (stage, agent) => {
    offered(agent, 'image', 'it has no tool that reads images')
    writeFileSync(join(stage.directory, 'dot.png'), Buffer.from(png, 'base64'))
    const reply = await run(stage, 'image', { once: allow(stage) })
    ends(reply, 'completed', 'I see it.')
    check(
      filesOf(reply).some(({ mime }) => mime.startsWith('image/')),
      'the reply has no image',
    )
  },
  'form of an MCP server': async (stage, agent) => {
    offered(agent, 'form', 'it takes no MCP servers from here')
    const reply = await run(stage, 'form', {
      once: async (ask) => await stage.client().answer(ask, ask.type === 'question' ? [['Blue']] : 'once'),
    })
    const { results } = requestsFor(stage, 'form')
    if (results.includes('declares no elicitation')) throw new NotOffered('it declares no elicitation to MCP servers')
    ends(reply, 'completed', 'The form is filled.')
    check(results.includes('accept: Blue'), `the form was answered with: ${results.slice(-300)}`)
  },
  'another model': async (stage, { otherModel }) => {
    if (!otherModel) throw new NotOffered('it takes no model for a prompt')
    ends(await run(stage, 'plain', { model: otherModel }), 'completed', texts.plain)
    check(requestsFor(stage, 'plain').json.includes(otherModel.modelID), `${otherModel.modelID} was not asked`)
  },
  'list of models': async (stage) => {
    // An ACP agent has them in a session.
    await run(stage, 'plain')
    const models = await stage.client().models(stage.directory)
    check(models.length > 0, 'it lists no models')
  },
  compaction: async (stage, { compacts }) => {
    if (!compacts) throw new NotOffered('it has no command that does it')
    // Some agents refuse to compact a short history, and Claude Code 2.1.197 one of few messages.
    const { sessionID } = await run(stage, 'long')
    for (let turns = 0; turns < 2; turns++) await run(stage, 'plain', { sessionID })
    if (compacts === 'call') await stage.client().compact(sessionID)
    else {
      const reply = await stage.client().prompt({ text: compacts, agent: stage.mode, sessionID }).result
      check(reply.outcome === 'completed', describe(reply))
      check(reply.compaction?.state === 'done', 'the reply shows no compaction')
    }
    ends(await run(stage, 'plain', { sessionID }), 'completed', texts.plain)
  },
}

/** Throws with the message unless the condition holds. */
function check(holds: boolean, message: string): void {
  if (!holds) throw new Error(message)
}

function describe({ outcome, error, messages }: Reply): string {
  const text = messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])))
  return `the reply is ${outcome}: ${error?.message ?? ''} ${text.join(' ').slice(-200)}`
}

/** Checks how a reply ended, and the end of its text. */
function ends(reply: Reply, outcome: Reply['outcome'], text: string): void {
  check(reply.outcome === outcome && textOf(reply).endsWith(text), describe(reply))
}

/** Throws `NotOffered` if the agent has no tool for a script. */
function offered({ scripts }: SceneAgent, script: string, reason: string): void {
  if (!scripts.has(script)) throw new NotOffered(reason)
}

function prompt({ client, mode }: NewestStage, script: string, observer: ReplyObserver = {}, input: PromptInput = {}) {
  const { text = `[scenario:${script}] Go.`, ...others } = input
  return client().prompt({ text, agent: mode, ...others }, { observe: () => [observer] })
}

/** Sends a prompt and returns its reply. `once` is called once for each ask. */
async function run(
  stage: NewestStage,
  script: string,
  { once, ...input }: PromptInput & { readonly once?: (ask: Ask) => Promise<void> } = {},
): Promise<Reply> {
  const seen = new Set<string>()
  const failures: unknown[] = []
  const answer = ({ ask }: { readonly ask: Ask }): void => {
    if (!once || ask.status !== 'pending' || seen.has(ask.requestID)) return
    // A permission can be judged once its call is known.
    if (ask.type === 'permission' && !ask.call && !stage.asksWithoutCall) return
    seen.add(ask.requestID)
    once(ask).catch((error: unknown) => failures.push(error))
  }
  const observer = { permissionAsked: answer, questionAsked: answer, askChanged: answer }
  const reply = await prompt(stage, script, observer, input).result
  if (failures.length > 0) throw failures[0]
  return reply
}

/** Answers permissions with `once`. */
function allow(stage: NewestStage): (ask: Ask) => Promise<void> {
  return async (ask) => await stage.client().answer(ask, 'once')
}

async function answers(stage: NewestStage, script: string, text: string): Promise<void> {
  const reply = await run(stage, script)
  check(reply.outcome === 'completed', describe(reply))
  // Some agents begin with a warning.
  check(textOf(reply).endsWith(text), `the text differs: ${JSON.stringify(textOf(reply).slice(0, 200))}`)
}

/** Plays a scene of what goes on after the answer, and returns all replies of the session. */
async function inBackground(stage: NewestStage, name: string): Promise<readonly Reply[]> {
  const { directory, model, mode: agent } = stage
  return (await backgroundScenes[name]?.({ client: stage.client(), directory, agent, model })) ?? []
}

/** The requests for a script, as JSON, and the results of tools in them. Agents also send requests of their own. */
function requestsFor({ model }: NewestStage, script: string): { readonly json: string; readonly results: string } {
  const requests = model.requests.filter(({ kind, scenario }) => kind === 'step' && scenario === script)
  return { json: JSON.stringify(requests), results: requests.map(({ results }) => results).join('\n') }
}

/** Checks that the last request has the first answer. */
function hasHistory(stage: NewestStage): void {
  check(requestsFor(stage, 'plain').json.includes('A **bold** word'), 'the model was not given the history')
}

function isMade({ directory }: NewestStage, file: string): boolean {
  return existsSync(join(directory, file))
}
