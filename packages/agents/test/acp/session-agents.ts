import { launchClaude, launchCodex } from './adapter-stage.ts'
import { launchQwen } from './qwen-stage.ts'
import {
  deepScene,
  lateScene,
  questionScene,
  queueScene,
  steerScene,
  subagentScenes,
  wakeAbortScene,
  wakeScenes,
} from './session-scenes.ts'

/**
 * The agents that go on besides and after their answer: an older version, the oldest one with sub-agents as this protocol has
 * them, and the newest.
 */
export const sessionAgents = [
  ...['0.92.0', '0.101.0'].map(
    (version) =>
      ({
        agent: 'claude',
        folder: 'claude-agent-acp',
        version,
        mode: 'default',
        launch: launchClaude,
        scenes: [...subagentScenes, deepScene, ...wakeScenes, wakeAbortScene, lateScene, steerScene, queueScene],
      }) as const,
  ),
  ...['2.5.0', '2.6.0'].map(
    (version) =>
      ({
        agent: 'codex',
        folder: 'codex-acp',
        version,
        mode: 'read-only',
        launch: launchCodex,
        // It queues a second prompt too, but does not declare that.
        scenes: [...subagentScenes, steerScene],
      }) as const,
  ),
  ...['0.21.2', '0.24.4'].map(
    (version) =>
      ({
        agent: 'qwen',
        folder: 'qwen-code',
        version,
        mode: 'default',
        launch: launchQwen,
        // The older one doesn't tell the end of its own turns.
        scenes: [questionScene, ...wakeScenes, ...(version === '0.21.2' ? [] : [wakeAbortScene])],
      }) as const,
  ),
]

/** The newest of these agents, which list the sessions of other processes. */
export const listedAgents = sessionAgents.filter(({ version }) => ['0.101.0', '2.6.0', '0.24.4'].includes(version))
