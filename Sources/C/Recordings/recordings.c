#include "pushsim_recordings.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const uint8_t fluxer_bad_requests[] = {
#embed "../../../recordings/fluxer-bad-requests.har"
};

static const uint8_t fluxer_clear[] = {
#embed "../../../recordings/fluxer-clear.har"
};

static const uint8_t fluxer_delivery[] = {
#embed "../../../recordings/fluxer-delivery.har"
};

static const uint8_t fluxer_rate_limited[] = {
#embed "../../../recordings/fluxer-rate-limited.har"
};

static const uint8_t fluxer_register[] = {
#embed "../../../recordings/fluxer-register.har"
};

static const uint8_t fluxer_ring[] = {
#embed "../../../recordings/fluxer-ring.har"
};

static const uint8_t fluxer_unregister[] = {
#embed "../../../recordings/fluxer-unregister.har"
};

static const uint8_t ntm_deregister_apns[] = {
#embed "../../../recordings/ntm-deregister-apns.har"
};

static const uint8_t ntm_deregister_xmpp[] = {
#embed "../../../recordings/ntm-deregister-xmpp.har"
};

static const uint8_t ntm_register_apns[] = {
#embed "../../../recordings/ntm-register-apns.har"
};

static const uint8_t ntm_register_xmpp[] = {
#embed "../../../recordings/ntm-register-xmpp.har"
};

static const uint8_t ntm_topics[] = {
#embed "../../../recordings/ntm-topics.har"
};

static const uint8_t sunbird_broadcast[] = {
#embed "../../../recordings/sunbird-broadcast.har"
};

static const pushsim_recording all[] = {
    {"fluxer-bad-requests", fluxer_bad_requests, sizeof fluxer_bad_requests},
    {"fluxer-clear", fluxer_clear, sizeof fluxer_clear},
    {"fluxer-delivery", fluxer_delivery, sizeof fluxer_delivery},
    {"fluxer-rate-limited", fluxer_rate_limited, sizeof fluxer_rate_limited},
    {"fluxer-register", fluxer_register, sizeof fluxer_register},
    {"fluxer-ring", fluxer_ring, sizeof fluxer_ring},
    {"fluxer-unregister", fluxer_unregister, sizeof fluxer_unregister},
    {"ntm-deregister-apns", ntm_deregister_apns, sizeof ntm_deregister_apns},
    {"ntm-deregister-xmpp", ntm_deregister_xmpp, sizeof ntm_deregister_xmpp},
    {"ntm-register-apns", ntm_register_apns, sizeof ntm_register_apns},
    {"ntm-register-xmpp", ntm_register_xmpp, sizeof ntm_register_xmpp},
    {"ntm-topics", ntm_topics, sizeof ntm_topics},
    {"sunbird-broadcast", sunbird_broadcast, sizeof sunbird_broadcast},
};

static const size_t count = sizeof all / sizeof all[0];

const pushsim_recording *pushsim_recording_at(size_t index) {
    return index < count ? &all[index] : NULL;
}
