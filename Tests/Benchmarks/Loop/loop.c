#define OPENSSL_SUPPRESS_DEPRECATED
#include "loop.h"

#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/obj_mac.h>

int pushsim_loop_multiply(int times) {
  EC_GROUP *group = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1);
  EC_POINT *peer = EC_POINT_new(group);
  EC_POINT *own = EC_POINT_new(group);
  EC_POINT *product = EC_POINT_new(group);
  BIGNUM *scalar = BN_new();
  BN_CTX *context = BN_CTX_new();
  int result = -1;
  BN_set_word(scalar, 7);
  if (EC_POINT_mul(group, peer, scalar, NULL, NULL, context) != 1) goto end;
  for (int index = 0; index < times; index++) {
    BN_rand(scalar, 255, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY);
    if (EC_POINT_mul(group, own, scalar, NULL, NULL, context) != 1) goto end;
    if (EC_POINT_mul(group, product, NULL, peer, scalar, context) != 1) goto end;
  }
  result = 0;
end:
  BN_CTX_free(context);
  BN_free(scalar);
  EC_POINT_free(product);
  EC_POINT_free(own);
  EC_POINT_free(peer);
  EC_GROUP_free(group);
  return result;
}
