import type { Fields } from '../fields.ts'
import type { Dialect, Frame, Voice } from './dialect.ts'
import { isFields, listOf, type Turn, textIn } from './request.ts'

/**
 * Google's Gemini API. Requests and streams: https://ai.google.dev/api/generate-content, errors:
 * https://ai.google.dev/gemini-api/docs/troubleshooting
 */
export const gemini: Dialect = {
  takes: (path) => /:(?:streamG|g)enerateContent$/.test(path),
  read: (body) => {
    const fields = isFields(body) ? body : {}
    const { systemInstruction, generationConfig } = fields
    const system = isFields(systemInstruction) ? textIn(systemInstruction.parts) : ''
    const tools = listOf(fields.tools).flatMap((tool) => listOf(tool.functionDeclarations))
    return {
      turns: [{ role: 'system', text: system, calls: false }, ...listOf(fields.contents).flatMap(turnsOf)],
      hasTools: tools.length > 0,
      wantsJSON: isFields(generationConfig) && generationConfig.responseMimeType === 'application/json',
    }
  },
  refusal: (status, message) => ({ error: { code: status, message, status: statuses[status] ?? 'INTERNAL' } }),
  isWhole: (path) => path.endsWith(':generateContent'),
  whole: (frames) => {
    const chunks = frames.flatMap(({ data }) => (isFields(data) ? [data] : []))
    const candidates = chunks.flatMap(({ candidates: each }) => listOf(each))
    const parts = candidates.flatMap(({ content }) => (isFields(content) ? listOf(content.parts) : []))
    const last = candidates.at(-1)
    return { ...chunks.at(-1), candidates: [{ ...last, content: { role: 'model', parts } }] }
  },
  speak: ({ number, model }) => voice(`scripted_${number}`, model),
}

const statuses: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
  503: 'UNAVAILABLE',
}

/** Tool results are parts of a user's content. */
const turnsOf = (content: Fields): readonly Turn[] => {
  const parts = listOf(content.parts)
  const results = parts.flatMap(({ functionResponse }) => (isFields(functionResponse) ? [functionResponse] : []))
  const turn: Turn = {
    role: content.role === 'model' ? 'assistant' : 'user',
    text: textIn(parts),
    calls: parts.some(({ functionCall }) => functionCall !== undefined),
  }
  if (results.length === 0) return [turn]
  const answered = results.map(({ response }): Turn => ({ role: 'tool', text: resultIn(response), calls: false }))
  return [...answered, ...(turn.text === '' ? [] : [turn])]
}

const resultIn = (response: unknown): string =>
  isFields(response) && typeof response.output === 'string' ? response.output : JSON.stringify(response ?? '')

const voice = (responseId: string, modelVersion: string): Voice => {
  const frame = (parts: readonly object[], rest: object = {}, more: object = {}): Frame => ({
    data: { candidates: [{ content: { role: 'model', parts }, index: 0, ...rest }], modelVersion, responseId, ...more },
  })
  return {
    begin: () => [],
    text: (chunks) => chunks.map((text) => frame([{ text }])),
    reasoning: (chunks) => chunks.map((text) => frame([{ text, thought: true }])),
    // The API sends a call whole.
    tool: ({ id, name, pieces }) => [frame([{ functionCall: { id, name, args: JSON.parse(pieces.join('')) } }])],
    end: ({ input, output, cached }, reason) => [
      frame(
        [{ text: '' }],
        { finishReason: reason ?? 'STOP' },
        {
          usageMetadata: {
            promptTokenCount: input,
            candidatesTokenCount: output,
            totalTokenCount: input + output,
            cachedContentTokenCount: cached,
          },
        },
      ),
    ],
  }
}
