import { mainPlaces, otherPlaces, placesOfCards } from './hostile/chats.ts'
import { showAsText, showAsTextAnywhere, showAsTextInCards } from './hostile/check.ts'

// Each place is a fake platform behind its real client, or a reader of its own: the tests look at what they would load,
// open, mention or run, never at what our renderers mean. `hostile.nightly.ts` has what takes longer.

showAsText({ ...mainPlaces, ...otherPlaces })
showAsTextAnywhere(mainPlaces)
showAsTextInCards(placesOfCards)
