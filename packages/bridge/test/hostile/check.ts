import { hostileTexts } from '@reply/testing/internal'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { around, cardsWith } from './around.ts'
import type { Place } from './chats.ts'
import { wrongs } from './sight.ts'

type Places = Readonly<Record<string, () => Promise<Place>>>

const texts = Object.entries(hostileTexts)

/** Each text by itself is only text there. */
export function showAsText(places: Places): void {
  inEach(places, (place) => {
    test.each(texts)('show as text: %s', async (_, payload) => {
      await shownIn(place(), payload)
    })
  })
}

/** In all that Markdown has, too, and what is around it stays readable. */
export function showAsTextAnywhere(places: Places): void {
  inEach(places, (place) => {
    test.each(texts)('show as text wherever it stands: %s', async (_, payload) => {
      expect(await shownIn(place(), around(payload))).toMatch(/BEGINNING[\s\S]*ENDING/)
    })
  })
}

/** So it is in everything else that a chat shows of a reply. */
export function showAsTextInCards(places: Places): void {
  inEach(places, (place) => {
    test.each(texts)('show as text in titles, outputs, errors, asks and statuses: %s', async (_, payload) => {
      const cards = cardsWith(payload)
      expect(cards.length).toBeGreaterThan(10)
      await shownIn(place(), cards.join('\n\n'))
    })
  })
}

function inEach(places: Places, check: (place: () => Place) => void): void {
  describe.each(Object.entries(places))('%s', (name, open) => {
    let opened: Place | undefined
    beforeAll(async () => {
      opened = await open()
    })
    afterAll(async () => await opened?.close())
    check(() => opened ?? expect.fail(`${name} is not open.`))
  })
}

/** Shows a text in as many messages as it takes. Returns what people read of all of them. */
async function shownIn(place: Place, source: string): Promise<string> {
  const seen: string[] = []
  for (const piece of place.cut?.(source) ?? [source]) {
    const sight = await place.show(piece)
    expect(wrongs(sight)).toEqual([])
    seen.push(sight.text)
  }
  return seen.join('\n')
}
