import { scenario } from '../scenario.ts'
import { cut, failure, text } from '../script.ts'

export const failures = [
  scenario('retry-429', 'The model refuses with 429 once, the server waits, retries and succeeds.', {
    steps: [{ attempts: [[failure(429, 'Rate limit reached', { 'retry-after': '1' })], [text('After a short wait: done.')]] }],
  }),
  scenario('retry-cut', "The model's connection breaks in mid-text, the server retries and gets the whole text.", {
    steps: [
      {
        attempts: [
          [text('This sentence was cut off in the'), cut],
          [text('This sentence was said again, and this time to its end.')],
        ],
      },
    ],
  }),
]
