import { asks, call, permits, replyWith, settledWith, text, thought, viewOf } from '../../../sink/test/make.ts'

/** A text where it may stand in Markdown. The words around it must stay readable. */
export function around(payload: string): string {
  const line = payload.replace(/\s*\n\s*/g, ' ')
  const cell = line.replaceAll('|', '\\|')
  return [
    'BEGINNING',
    payload,
    `- item ${line}\n  - ${line}\n- [x] ${line}`,
    `> ${line}`,
    `## ${line}`,
    `| a | b |\n|---|---|\n| ${cell} | \`${cell}\` |`,
    `\`${line}\` **${line}** _${line}_ ~~${line}~~`,
    `\`\`\`html\n${payload}\n\`\`\``,
    `[${line}](https://c.example)`,
    'ENDING',
  ].join('\n\n')
}

/** The Markdown of everything that a chat shows of a reply in which that text is everywhere. */
export function cardsWith(payload: string): readonly string[] {
  const question = {
    header: payload,
    question: `Which? ${payload}`,
    options: [
      { label: payload, description: payload },
      { label: 'b', description: payload },
    ],
    multiple: true,
    custom: true,
  }
  const permission = permits({
    permission: payload,
    patterns: [payload],
    always: [payload],
    title: payload,
    metadata: { a: payload },
    call: { tool: 'bash', input: { command: payload } },
  })
  const input = { command: payload }
  const parts = [
    thought(payload),
    call(payload, { input, title: payload, status: 'completed', output: payload }),
    call('bash', { input, title: payload, status: 'error', error: payload }),
    call('bash', {
      input,
      title: payload,
      status: 'error',
      error: `The user rejected permission with the following feedback: ${payload}`,
    }),
    text('Said.'),
  ]
  const todos = [{ content: payload, status: 'pending' }]
  const child = { background: false, agent: payload, title: payload, callID: 'call_1' }
  const running = [...parts, call('bash', { input, title: payload })]
  const error = { name: payload, message: payload, raw: undefined }
  const replies = [
    replyWith(running, { todos, asks: [asks([question])], title: payload }),
    replyWith(running, { todos, asks: [permission] }),
    replyWith([], { phase: 'retrying', retry: { message: payload, attempt: 2, nextAt: undefined } }),
    replyWith([], { children: [{ ...child, reply: replyWith(running) }] }),
    settledWith(parts, {
      outcome: 'failed',
      error,
      asks: [{ ...asks([question]), status: 'answered', answers: [[payload]] }],
    }),
  ]
  const policy = { verbosity: 'verbose', reasoning: true } as const
  return replies.flatMap((reply) => viewOf(reply, { policy, label: payload }).cards.map(({ source }) => source))
}
