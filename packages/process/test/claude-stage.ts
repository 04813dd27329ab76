import { mkdtempSync, realpathSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SourceStage } from '@reply/core/testing'
import { hold, reasoning, type Scripts, startModel, text, tool } from '@reply/testing'
import { claude } from '../src/index.ts'

const bash = (name: string) =>
  tool('Bash', { command: `touch ${name}.txt && echo ${name}`, description: 'Makes a file' })

export const claudeScripts: Scripts = {
  plain: { steps: [[reasoning('Let me think.'), text('Hello there, nice to meet you.')]] },
  endless: { steps: [[text('I begin. '), hold('forever'), text('never')]] },
  permission: { steps: [[text('I run it.'), bash('made')], [text('It is made.')]] },
  always: {
    steps: [[tool('Bash', { command: 'node -e 0', description: 'Does nothing' })], [text('It is made again.')]],
  },
  question: {
    steps: [
      [
        tool('AskUserQuestion', {
          questions: [
            {
              question: 'Which color?',
              header: 'Color',
              multiSelect: false,
              options: [
                { label: 'Red', description: 'Warm' },
                { label: 'Blue', description: 'Cold' },
              ],
            },
          ],
        }),
      ],
      [text('Thanks.')],
    ],
  },
  delegate: {
    steps: [
      [tool('Agent', { description: 'Look around', prompt: '[scenario:child] Go', subagent_type: 'general-purpose' })],
      [text('The agent is done.')],
    ],
  },
  child: { steps: [[text('The child works.'), bash('child')], [text('The child is done.')]] },
}

/** Claude Code with a scripted model, in a home and a folder of its own. */
export async function startClaudeStage(command: string): Promise<SourceStage> {
  const model = await startModel({ scripts: claudeScripts, fallback: 'plain' })
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'reply-claude-')))
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'reply-claude-')))
  const env = {
    HOME: home,
    ANTHROPIC_BASE_URL: model.origin,
    ANTHROPIC_API_KEY: 'scripted-key',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  }
  const source = claude({ command, cwd: directory, env })
  return {
    source,
    unreachable: claude({ command: 'no-such-claude', env }),
    directory,
    secrets: ['scripted-key'],
    prompts: {
      plain: { text: '[scenario:plain] Go.', answer: 'Hello there, nice to meet you.' },
      endless: '[scenario:endless] Go.',
      permission: '[scenario:permission] Go.',
      always: '[scenario:always] Go.',
      question: '[scenario:question] Go.',
      delegate: '[scenario:delegate] Go.',
      command: 'compact',
    },
    close: async () => {
      source.close()
      await model.close()
      // It writes its files until it has ended.
      for (const folder of [home, directory])
        await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
    },
  }
}
