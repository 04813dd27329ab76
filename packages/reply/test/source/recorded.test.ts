import { createRecordedServer } from '@reply/testing'
import { describe, test } from 'vitest'
import { type SourceClauseName, type SourceStage, sourceContract } from '../../src/testing.ts'
import { recorded } from '../recorded.ts'
import { nowhere, sourceAt } from './live-stage.ts'

const noPrompts = 'A recording takes no prompts.'
const skip = Object.fromEntries(
  [
    'creates a session in the directory, with its title',
    'prompts once and sends the whole run',
    'reads the messages of a run as its events had them',
    "keeps a message's id",
    'resolves a prompt before its run ends, and lists the session as working',
    'aborts a run, and an idle session without an error',
    'keeps a queued prompt behind a run, and lists it',
    'takes back a prompt that waits, once',
    'only stores a message without a reply',
    'lists a permission with its call, and allows it once',
    'allows what a permission says is always allowed',
    'lists what is always allowed, and takes it back',
    'fails as gone for an ask that was answered',
    'rejects a permission',
    'tells the agent why a permission is rejected',
    'answers a question',
    'rejects a question',
    'does not send an answer whose signal has aborted',
    "answers a sub-agent's permission, and lists the sub-agent as a child",
    'lists its models',
    'lists its agents, including one to prompt',
    'lists its commands',
    'runs a command',
    'asks before it acts in a guarded session, or refuses it',
    'forks a session with its messages',
    'reverts to a message, and takes it back',
    'refuses a prompt for a session that does not exist',
  ].map((name) => [name, noPrompts]),
) satisfies Partial<Record<SourceClauseName, string>>

const subagents = recorded.filter(({ scenario, name }) => scenario === 'subagent' && !name.endsWith('global'))

describe.each(subagents)('the source on the recording $name', ({ version, read }) => {
  const { bytes, sessions } = read()
  const root = sessions.find(({ info }) => info.parentID === undefined)
  if (!root) throw new Error('The recording has no root session.')
  const { id: sessionID, info, messages, children } = root
  const texts = messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === 'text' ? part.text : [])))

  const setup = (): SourceStage => {
    const server = createRecordedServer({ bytes, version })
    server.publish(server.length)
    const source = sourceAt('http://recorded', server.fetch)
    return {
      source,
      unreachable: sourceAt(nowhere),
      directory: info.directory,
      existing: {
        sessionID,
        messageIDs: messages.map((message) => message.info.id),
        answer: texts.at(-1) ?? '',
        childIDs: children,
      },
      close: async () => source.close(),
    }
  }
  for (const { name, run } of sourceContract({ name: version, setup, skip })) test(name, run)
})
