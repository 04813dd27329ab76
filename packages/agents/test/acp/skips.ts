import { localAgentSkips } from '@reply/core/testing'

/** What no ACP agent does, by the contract's clauses. */
export const contractSkips = {
  ...localAgentSkips('An ACP agent'),
  'lists its models': 'The models are settings of a session, and there is none yet.',
  'lists its commands': 'The commands are those of a session, and there is none yet.',
  'runs a command': 'The scripted agent has none.',
  'tells the agent why a permission is rejected': 'The answer to a permission is one of the options, without words.',
  "answers a sub-agent's permission, and lists the sub-agent as a child": 'The scripted agent has none.',
} as const
